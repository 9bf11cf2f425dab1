"""What a reader asks of a graph: views, differences, exports."""
