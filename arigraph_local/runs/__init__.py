"""Run folders: the event log, results, resuming."""
