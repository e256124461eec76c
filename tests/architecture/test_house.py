"""Ratchets: what makes the house hard to read may only become less."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import house  # noqa: E402

# Counts as they are. Each may only fall: whoever brings one down lowers the number here, and nobody raises it.
AT_MOST = {
    "long_functions": 0,
    "wide_kernels": 0,
    "type_tests": 0,
    "names_at_the_top": 50,
    "median_file": 105,
    "p90_file": 287,
    "repeated_file_names": 3,  # base: what a folder consists of; energies, reactions: measures beside mechanics
    "add_joint_files": 1,
    "add_constraint_files": 1,
    "add_force_files": 1,
    "add_measure_files": 1,
    "add_objective_files": 1,
    "add_scheme_of_the_Newmark_family_files": 1,
    "add_explicit_scheme_files": 1,
    "add_formulation_numbers_only_files": 1,
    "add_formulation_with_a_step_of_its_own_files": 1,
    "add_formulation_with_a_step_of_its_own_folders": 4,
}


@pytest.fixture(scope="module")
def measured() -> dict[str, int | float | str]:
    return house.figures(house.House(ROOT))


@pytest.mark.parametrize("what", AT_MOST)
def test_counts_only_fall(what: str, measured: dict[str, int | float | str]) -> None:
    count = measured[what]
    assert count <= AT_MOST[what], (
        f"{what} is {count}, it was {AT_MOST[what]}: `python benchmarks/house.py --list` names them. "
        "Make it less again, and lower the number in this test whenever it falls."
    )


def small_house(folder: Path, **files: str) -> house.House:
    for name, text in {"__init__": "_NAMES = ['a', 'b']", **files}.items():
        path = folder / "src" / "mechgrad" / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return house.House(folder)


def test_every_count_sees_what_it_should(tmp_path: Path) -> None:
    many = ", ".join(f"x{k}" for k in range(13))
    found = small_house(
        tmp_path,
        dynamics__in__forms="class Formulation: ...\nclass Own(Formulation): ...\nisinstance(1, Own)\n",
        other__in__user="isinstance(f, Own)\nisinstance(f, int | Own)\nisinstance(f, int)\ntype(f) is Own\n"
        "match f:\n    case Own(): ...\n",
        other__in__kernels=f"@kernel\ndef wide({many}): ...\n@inner\ndef narrow(x): ...\ndef python({many}): ...\n",
        other__in__forms="def long():\n" + "    x = 1\n" * 60 + "def short():\n" + "    x = 1\n" * 59,
    )
    assert [(x.where.split(":")[0], x.what) for x in found.type_tests()] == [("other/user.py", "Own")] * 4
    assert [(x.what, x.size) for x in found.wide_kernels()] == [("wide", 13)]
    assert [(x.what, x.size) for x in found.long_functions()] == [("long", 61)]
    assert found.repeated_file_names() == {"forms.py": 2}
    assert found.names_at_the_top() == 2


def test_costs_count_every_file_that_names_the_representative(tmp_path: Path) -> None:
    name = house.REPRESENTATIVES["explicit scheme"]
    found = small_house(
        tmp_path,
        schemes="from mechgrad.steps.schemes import RK4",  # the front door is no cost
        steps__in__schemes=f"class {name}: ...\n",
        steps__in__user=f"from mechgrad.steps.schemes import {name}\n",
        sums__in__special=f"if x is {name}: ...\n",
        sums__in__silent='"RK4 in words only"\n',
        gallery__in__example=f"{name}()\n",
    )
    assert found.cost_to_add("explicit scheme") == ["steps/schemes.py", "steps/user.py", "sums/special.py"]
    assert found.folders("explicit scheme") == ["steps", "sums"]
    with pytest.raises(ValueError, match="choose another representative of 'joint'"):
        found.cost_to_add("joint")
