"""What is best? Turns questions about a mechanism into sparse nonlinear programs and has them solved."""
