"""`python -m mechgrad` is the command `mechgrad`."""

from mechgrad.cli.main import app

app(prog_name="mechgrad")
