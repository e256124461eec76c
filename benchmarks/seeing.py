"""What looking at a motion costs: the page and how soon it is there, pictures per second, a march that is watched.

    python benchmarks/seeing.py [--quick]

Needs Chromium with chromedriver, and draws with the processor (WebGL by software), as a machine without a graphics card
does. Figures of pages are those of 10 s of the human with 43 joints at 100 Hz:

    written        from the motion to the file: the median of some, and of the processor time alone
    opened         from the address to the first picture, in a browser that has opened a page before
    pictures       per second while it plays, the median of some seconds, and the share of pixels that the page chose
    picture_cpu    processor time of all of the browser for one picture at full resolution, shadows as when it stands
    live           a march of the five-bar that is watched, over one that is not, in turns, with a page that listens and
                   draws: processor time of this process, and wall, which counts who else wants the processors

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import glob
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import Report, digits, machine

import mechgrad as mg
from mechgrad import gallery
from mechgrad.visualization import animation_html, save_scene, scene_of
from mechgrad.visualization.scene import Scene

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "visualization"))
from browser_driver import Page, browser, missing
from drawn_motions import Swing

INSTANTS = 1001
FRAMES = 30
DRAWN = f"""
const n = {FRAMES}, end = STAGE.series.duration(), gl = STAGE.renderer.getContext(), dot = new Uint8Array(4);
const begin = performance.now();
for (let k = 0; k < n; k++) {{
  STAGE.show(end * k / n); STAGE.draw(); gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, dot);
}}
return (performance.now() - begin) / n;
"""


def human() -> Swing:
    """10 s at 100 Hz of the human's motion."""
    _, q, *_ = gallery.human_motion(INSTANTS)
    return Swing(gallery.human(), np.linspace(0.0, 10.0, INSTANTS), q)


def processor_seconds(root: int) -> float:
    """User and system time of all processes below one, so far."""
    below: dict[int, list[tuple[int, int]]] = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            words = Path(path).read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        below.setdefault(int(words[1]), []).append((int(path.split("/")[2]), int(words[11]) + int(words[12])))
    total, left = 0, [root]
    while left:
        for child, ticks in below.get(left.pop(), []):
            total += ticks
            left.append(child)
    return total / os.sysconf("SC_CLK_TCK")


def written(report: Report, folder: Path, rounds: int) -> None:
    """Size of the page of the human, and how long it takes to write."""
    motion, walls, cpus = human(), [], []
    for _ in range(rounds):
        begin, cpu = time.perf_counter(), time.process_time()
        path = save_scene(motion, folder / "human.html")
        walls.append(time.perf_counter() - begin)
        cpus.append(time.process_time() - cpu)
    report.note("human_html_mb", path.stat().st_size / 1e6)
    report.note("human_written_s", statistics.median(walls))
    report.note("human_written_cpu_s", statistics.median(cpus))


def seen(report: Report, page: Page, folder: Path, name: str, scene: Scene, rounds: int) -> None:
    """Opening, pictures per second, and what one picture takes."""
    path = folder / f"{name}.html"
    path.write_text(animation_html(scene), encoding="utf-8")
    opened = []
    for _ in range(rounds):
        begin = time.perf_counter()
        page.open(path.as_uri())
        page.run("STAGE.draw()")
        opened.append(time.perf_counter() - begin)
    report.note(f"{name}_opened_s", statistics.median(opened))
    report.note(f"{name}_triangles", int(page.state()["triangles"]))
    page.run(DRAWN)
    driver, walls, cpus = page.driver.service.process.pid, [], []
    for _ in range(rounds):
        before = processor_seconds(driver)
        walls.append(page.run(DRAWN))
        cpus.append(1e3 * (processor_seconds(driver) - before) / FRAMES)
    report.note(f"{name}_picture_ms", statistics.median(walls))
    report.note(f"{name}_picture_cpu_ms", statistics.median(cpus))
    page.run("mechgrad.play(true)")
    time.sleep(3.0)  # until the page has found what it can draw
    rates = []
    for _ in range(2 * rounds):
        time.sleep(1.0)
        rates.append(page.state()["rate"])
    report.note(f"{name}_pictures_per_s", statistics.median(rates))
    report.note(f"{name}_share_of_pixels", float(page.run("return STAGE.renderer.getPixelRatio()")) ** 2)
    page.run("mechgrad.play(false)")


def live(report: Report, page: Page, duration: float, rounds: int) -> None:
    """A march that a page watches beside the same one alone."""
    model = gallery.five_bar()
    start = mg.state(model, gallery.five_bar_start())

    def once(**how: Any) -> tuple[float, float]:
        begin, cpu = time.perf_counter(), time.process_time()
        mg.simulate(model, start, duration, step=1e-3, samples=2001, **how)
        return time.perf_counter() - begin, time.process_time() - cpu

    with mg.view(start, live=True, open_browser=False) as viewer:
        page.open(viewer.url)
        once(progress=viewer.follow)
        times: dict[str, list[tuple[float, float]]] = {"alone": [], "watched": []}
        for k in range(rounds):
            for name in sorted(times, reverse=bool(k % 2)):
                times[name].append(once(**({} if name == "alone" else {"progress": viewer.follow})))
        shown = page.state()["heard"]["poses"]
    alone, watched = (np.array(times[name]) for name in ("alone", "watched"))
    report.note("live_march_s", float(np.median(alone[:, 0])))
    report.note("live_over_alone", float(np.median(watched[:, 0] / alone[:, 0])))
    report.note("live_over_alone_cpu", float(np.median(watched[:, 1] / alone[:, 1])))
    report.note("live_poses_per_s", shown / (float(watched[:, 0].sum()) + float(watched[0, 0])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, a short march")
    quick = parser.parse_args().quick
    if why := missing():
        raise SystemExit(f"{why}: nothing can be measured without a browser.")
    report, rounds = Report(dict(machine())), 3 if quick else 7
    with tempfile.TemporaryDirectory() as name, browser(Path(name) / "profile") as page:
        folder = Path(name)
        written(report, folder, rounds)
        start = mg.state(gallery.five_bar(), gallery.five_bar_start())
        seen(report, page, folder, "human", scene_of(human()), rounds)
        motion = mg.simulate(gallery.five_bar(), start, 5.0, step=1e-2)
        seen(report, page, folder, "five_bar", scene_of(motion), rounds)
        live(report, page, 500.0 if quick else 1000.0, rounds)
    own = [key for key in report.figures if key.partition("_")[0] in ("human", "five", "live")]
    report.table("Looking at a motion", ["", "measured"], [[key, digits(float(report.figures[key]))] for key in own])
    report.finish()


if __name__ == "__main__":
    main()
