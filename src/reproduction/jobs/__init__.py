"""What one command of the workflow does; heavy imports stay inside."""
