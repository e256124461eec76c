"""Why does it move: equations of motion with loops and forces, one file per formulation."""
