"""Random mechanisms, independent twins and oracles that the tests share."""
