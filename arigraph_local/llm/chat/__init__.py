"""From turns to text: chat templates and reasoning parts."""
