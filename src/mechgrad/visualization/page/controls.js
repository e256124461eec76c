// The page: numbers unpacked, time, buttons, switches, curves.

const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4];
const SHORT = 1.5; // seconds that a motion takes to be shown, at least: shorter ones are slowed down
const SMOOTH = 30, PATIENCE = 8, COARSEST = 0.4; // pictures per second wanted; pictures before judging; least share of width
const BESIDE = 0.6; // share of width beside a march, where a processor draws

async function unpacked(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// Series over time: sums of the differences that were sent, times their unit; what is between two instants is mixed.
class Series {
  constructor(scene, numbers) {
    this.scene = scene; this.numbers = new Int32Array(numbers); this.known = new Map();
    this.times = this.channel(scene.t)[0]; this.first = this.at(0);
  }

  channel(where) { // a list of channels, each over all instants
    if (!this.known.has(where)) {
      const found = [];
      for (let c = 0; c < where.channels; c++) {
        const values = new Float64Array(where.of); let sum = 0;
        for (let k = 0; k < where.of; k++) {
          sum += this.numbers[where.from + c * where.of + k]; values[k] = sum * where.unit;
        }
        found.push(values);
      }
      this.known.set(where, found);
    }
    return this.known.get(where);
  }

  count() { return this.times.length; }

  duration() { return this.times[this.times.length - 1]; }

  between(time) { // the instant before, and the share of the way to the next
    const t = this.times; let low = 0, high = t.length - 1;
    if (high === 0 || time <= t[0]) return [0, 0];
    if (time >= t[high]) return [high - 1, 1];
    while (high - low > 1) { const k = (low + high) >> 1; if (t[k] <= time) low = k; else high = k; }
    return [low, (time - t[low]) / (t[high] - t[low] || 1)];
  }

  row(where, time) {
    const [k, s] = this.between(time);
    return this.channel(where).map(c => s && k + 1 < c.length ? (1 - s) * c[k] + s * c[k + 1] : c[Math.min(k, c.length - 1)]);
  }

  at(k) { return this.pose(this.times[k]); }

  pose(time, of = this.scene) {
    return posed(this.row(of.p, time), this.row(of.e, time));
  }

  centre(time) { return vec(this.row(this.scene.centre, time)); }

  middle() {
    const low = this.channel(this.scene.centre).map(c => Math.min(...c)), high = this.channel(this.scene.centre).map(c => Math.max(...c));
    return vec(low).add(vec(high)).multiplyScalar(0.5);
  }
}

function posed(p, e) { // positions and turns of all bodies from flat lists
  const pose = { p: [], e: [] };
  for (let k = 0; k < p.length / 3; k++) {
    pose.p.push(new THREE.Vector3(p[3 * k], p[3 * k + 1], p[3 * k + 2]));
    pose.e.push(new THREE.Quaternion(e[4 * k + 1], e[4 * k + 2], e[4 * k + 3], e[4 * k]).normalize());
  }
  return pose;
}

class Player {
  constructor(stage) {
    this.stage = stage; this.series = stage.series; this.playing = false; this.speed = 1; this.loop = true; this.drawn = []; this.coarse = 1;
    this.live = Boolean(stage.scene.live); this.still = !this.live && (this.series.count() < 2 || stage.scene.strip > 0);
    for (const name of ["play", "scrub", "clock", "speed", "loop", "follow"]) this[name + "Box"] = document.getElementById(name);
    document.getElementById("title").textContent = stage.scene.name;
    document.getElementById("bar").classList.toggle("still", this.still);
    document.getElementById("bar").classList.toggle("live", this.live);
    this.slow(); this.wire(); this.switches(); this.curves(); this.seek(0);
  }

  slow() {
    const wanted = Math.min(1, this.series.duration() / SHORT);
    const first = Math.max(...SPEEDS.filter(x => x <= wanted * 1.001), SPEEDS[0]);
    for (const x of SPEEDS) this.speedBox.add(new Option(x + " ×", x, x === first, x === first));
    this.speed = first;
  }

  wire() {
    this.playBox.onclick = () => this.play(!this.playing);
    this.scrubBox.oninput = () => { this.play(false); this.seek(this.scrubBox.valueAsNumber * this.series.duration()); };
    this.speedBox.onchange = () => { this.speed = Number(this.speedBox.value); };
    this.loopBox.onchange = () => { this.loop = this.loopBox.checked; };
    this.followBox.checked = this.stage.follow;
    this.followBox.onchange = () => { this.stage.follow = this.followBox.checked; this.stage.look(); };
    document.onkeydown = event => {
      if (event.target.tagName === "INPUT" && event.target.type !== "range") return;
      if (event.key === " ") { this.play(!this.playing); event.preventDefault(); }
      if (event.key === "Home") this.seek(0);
    };
    const canvas = this.stage.canvas, orbit = this.stage; let drag = null;
    canvas.onpointerdown = event => { drag = event; canvas.setPointerCapture(event.pointerId); };
    canvas.onpointerup = () => { drag = null; };
    canvas.oncontextmenu = event => event.preventDefault();
    canvas.ondblclick = () => { orbit.home(); orbit.look(); };
    canvas.onpointermove = event => {
      if (!drag) return;
      const dx = event.clientX - drag.clientX, dy = event.clientY - drag.clientY, n = canvas.clientHeight;
      if (drag.buttons === 2 || drag.shiftKey || drag.button === 2) {
        const reach = 2 * orbit.camera.position.distanceTo(orbit.target()) * Math.tan(orbit.camera.fov * Math.PI / 360) / n;
        const right = new THREE.Vector3().setFromMatrixColumn(orbit.camera.matrix, 0);
        const over = new THREE.Vector3().setFromMatrixColumn(orbit.camera.matrix, 1);
        orbit.shift.addScaledVector(right, -dx * reach).addScaledVector(over, dy * reach);
      } else { orbit.orbit.theta -= 3.2 * dx / n; orbit.orbit.phi -= 3.2 * dy / n; }
      const button = drag.button, shift = drag.shiftKey;
      drag = { clientX: event.clientX, clientY: event.clientY, buttons: event.buttons, button, shiftKey: shift };
      orbit.look();
    };
    canvas.addEventListener("wheel", event => {
      orbit.distance += 0.0012 * event.deltaY; orbit.look(); event.preventDefault();
    }, { passive: false });
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  resize() {
    const canvas = this.stage.canvas, ratio = this.coarse * Math.min(window.devicePixelRatio || 1, 2);
    this.stage.resize(canvas.clientWidth, canvas.clientHeight, ratio);
    if (this.graphs) this.plot();
  }

  switches() {
    const panel = document.getElementById("layers");
    for (const [name, group] of this.stage.layers) {
      const label = document.createElement("label"), box = document.createElement("input");
      box.type = "checkbox"; box.checked = group.visible; box.dataset.layer = name;
      box.onchange = () => { group.visible = box.checked; this.stage.show(this.stage.time); };
      label.append(box, name);
      const arrows = this.stage.arrows.find(x => x.layer.name === name);
      if (arrows) {
        const dot = document.createElement("i"), scale = document.createElement("small");
        dot.style.background = arrows.layer.colour;
        scale.textContent = `1 m = ${short(1 / arrows.layer.scale)} ${arrows.layer.unit}`;
        label.append(dot, scale);
      }
      panel.append(label);
    }
  }

  curves() {
    const panel = document.getElementById("curves");
    this.graphs = this.stage.scene.curves; panel.hidden = !this.graphs.length;
    if (!this.graphs.length) { this.graphs = null; return; }
    panel.style.height = Math.min(0.5 * window.innerHeight, 74 * this.graphs.length) + "px";
    panel.onclick = event => {
      this.play(false); this.seek((event.offsetX - 8) / (panel.clientWidth - 16) * this.series.duration());
    };
  }

  plot() { // small graphs below each other, each with its own scale, and the cursor of the time
    const canvas = document.querySelector("#curves canvas"), ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight, n = this.graphs.length, each = height / n;
    canvas.width = width * ratio; canvas.height = height * ratio;
    const paint = canvas.getContext("2d"); paint.scale(ratio, ratio); paint.font = "11px system-ui, sans-serif";
    const t = this.series.times, x = time => 8 + (width - 16) * time / (this.series.duration() || 1);
    this.graphs.forEach((graph, k) => {
      const y = this.series.channel(graph.values)[0], low = Math.min(...y), high = Math.max(...y);
      const top = k * each + 18, tall = each - 24, at = v => top + tall * (1 - (v - low) / (high - low || 1));
      paint.fillStyle = "#5c6873"; paint.textAlign = "left";
      paint.fillText(graph.label + (graph.unit ? ` [${graph.unit}]` : ""), 8, k * each + 12);
      paint.textAlign = "right"; paint.fillText(`${short(low)} … ${short(high)}`, width - 8, k * each + 12);
      paint.strokeStyle = "#3d7ab8"; paint.lineWidth = 1.4; paint.beginPath();
      for (let i = 0; i < y.length; i++) paint[i ? "lineTo" : "moveTo"](x(t[i]), at(y[i]));
      paint.stroke();
      const now = this.series.row(graph.values, this.stage.time)[0];
      paint.fillStyle = "#d55e00"; paint.beginPath(); paint.arc(x(this.stage.time), at(now), 3, 0, 7); paint.fill();
    });
    paint.strokeStyle = "#d55e00"; paint.lineWidth = 1; paint.beginPath();
    paint.moveTo(x(this.stage.time), 0); paint.lineTo(x(this.stage.time), height); paint.stroke();
  }

  play(on) {
    this.playing = on && !this.still && !this.live; this.playBox.classList.toggle("on", this.playing);
    if (this.playing && !this.loop && this.stage.time >= this.series.duration()) this.seek(0);
    this.last = null; this.drawn = [];
    if (!this.playing) { this.stage.plain(this.plain = false); if (this.coarse < 1) { this.coarse = 1; this.resize(); } }
  }

  ease() { // plainer shadows, then fewer pixels while it plays, where the machine does not draw enough pictures per second
    if (this.drawn.length < PATIENCE || this.rate() >= SMOOTH || this.coarse <= COARSEST) return;
    if (!this.plain) this.stage.plain(this.plain = true);
    else { this.coarse = Math.max(COARSEST, 0.75 * this.coarse); this.resize(); }
    this.drawn = [];
  }

  seek(time) {
    const end = this.series.duration(), now = Math.max(0, Math.min(time, end));
    this.stage.show(now); this.scrubBox.value = end ? now / end : 0;
    const digits = end < 0.1 ? 4 : end < 100 ? 2 : 1, first = this.stage.scene.t0;
    this.clockBox.value = `${(first + now).toFixed(digits)} / ${(first + end).toFixed(digits)} s`;
    if (this.graphs) this.plot();
  }

  tick(stamp) {
    if (this.playing) {
      if (this.last !== null) {
        let time = this.stage.time + (stamp - this.last) / 1000 * this.speed;
        const end = this.series.duration();
        if (time > end) { if (this.loop) time %= end; else { time = end; this.play(false); } }
        this.seek(time);
      }
      this.last = this.playing ? stamp : null;
      this.ease();
    }
    if (this.stage.dirty) { this.stage.draw(); this.drawn.push(stamp); if (this.drawn.length > 240) this.drawn.shift(); }
    requestAnimationFrame(next => this.tick(next));
  }

  watch(address) { // a march under way: poses as they come, until there is a whole motion or nothing comes any more
    const feed = new EventSource(address);
    this.heard = { poses: 0, over: "" };
    const light = on => { this.stage.plain(on); this.coarse = on ? BESIDE : 1; this.resize(); };
    if (software()) light(true); // the march needs the processor more
    const over = how => { feed.close(); this.heard.over = how; light(false); };
    feed.addEventListener("pose", event => {
      const { t, p, e } = JSON.parse(event.data);
      this.stage.arrive(t, posed(p, e)); this.heard.poses++;
      this.clockBox.value = t.toPrecision(5) + " s"; this.followBox.checked = this.stage.follow;
    });
    feed.addEventListener("reload", () => { over("reload"); location.reload(); });
    feed.addEventListener("end", () => { over("end"); this.clockBox.value += " (ended)"; });
  }

  rate(seconds = 2) { // pictures per second, lately
    const end = this.drawn[this.drawn.length - 1], recent = this.drawn.filter(x => x > end - 1000 * seconds);
    return recent.length > 1 ? 1000 * (recent.length - 1) / (end - recent[0]) : 0;
  }
}

function short(x) { return Number(x.toPrecision(3)).toString(); }

// Several instants in one picture: all but the last translucent, paler the earlier.
function strip(stage, series, count) {
  stage.follow = false;
  for (let k = 0; k < count - 1; k++) {
    const time = series.duration() * k / (count - 1), ghost = stage.ghost(stage.scene, k, 0.3 + 0.45 * k / count, "bodies");
    stage.put(series.pose(time), ghost.placed, ghost.springs);
  }
  stage.show(series.duration());
}

function complain(text) {
  const box = document.getElementById("message");
  box.textContent = text; box.hidden = false;
}

async function start() {
  if (typeof DecompressionStream === "undefined") return complain("This page needs a browser of 2023 or later.");
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(await unpacked("three"));
  document.head.append(script);
  const scene = JSON.parse(new TextDecoder().decode(await unpacked("scene")));
  const series = new Series(scene, await unpacked("numbers"));
  let stage;
  try { stage = new Stage(document.getElementById("picture"), scene, series); }
  catch (error) { return complain("This browser cannot draw in three dimensions (WebGL): " + error.message); }
  const player = new Player(stage); window.STAGE = stage;
  if (scene.strip > 1) strip(stage, series, scene.strip);
  if (player.live) player.watch(scene.live);
  window.mechgrad = page(stage, player);
  requestAnimationFrame(stamp => player.tick(stamp));
}

function page(stage, player) { // what tests and the maker of pictures take hold of
  return {
    state: () => ({ time: stage.time, playing: player.playing, duration: player.series.duration(), rate: player.rate(),
      layers: Object.fromEntries([...stage.layers].map(([name, group]) => [name, group.visible])), follow: stage.follow, heard: player.heard,
      calls: stage.renderer.info.render.calls, triangles: stage.renderer.info.render.triangles }),
    seek: time => { player.play(false); if (!stage.scene.strip) player.seek(time); },
    play: on => player.play(on),
    position: frame => (stage.arrived ? stage.arrived.pose : stage.series.pose(stage.time))
      .p[stage.scene.frames.indexOf(frame)].toArray(),
    picture: (width, height, kind, fine) => {
      const made = stage.picture(width, height, fine || 2).toDataURL(kind || "image/png", 0.92);
      player.resize(); return made;
    },
  };
}

// Pictures for the program that opened this page: drawn at the times it asked for, sent back one by one.
async function record(order) {
  const send = body => fetch(location.pathname, { method: "POST", body });
  try {
    await started;
    if (!window.mechgrad) throw new Error(document.getElementById("message").textContent || "nothing was drawn");
    for (const time of order.times) {
      window.mechgrad.seek(time);
      const made = window.mechgrad.picture(order.size[0], order.size[1], order.kind, order.fine);
      await send(Uint8Array.from(atob(made.split(",")[1]), c => c.charCodeAt(0)));
    }
  } catch (error) { await send("error:" + error.message); }
}

const started = start();
