"""What a run logs, shows and sends to a tracker."""
