"""What joints, constraints and forces are written in: frames, declared numbers, rows, laws, measures in files."""
