// The stage: light, floor, camera, and every body where it is at a time.

const HIDDEN = new Set(["axes", "centres of mass", "contact spheres", "velocities", "reactions", "contact forces",
  "loads", "load couples", "driving torques", "driving forces"]);
const SHADE = 2.1; // radius of what shadows fall on, of what is seen
const FAR = 2.2; // ways that are so much longer than what is seen are followed
const OVERLAID = new Set(["centres of mass"]);

class Stage {
  constructor(canvas, scene, series) {
    this.scene = scene; this.series = series; this.canvas = canvas; this.dirty = true; this.time = 0;
    SIZE = scene.size;
    this.world = new THREE.Scene(); this.layers = new Map(); this.up = vec(scene.up);
    this.renderer = new THREE.WebGLRenderer({ canvas, alpha: true, antialias: !software(), powerPreference: "high-performance" });
    this.renderer.outputEncoding = THREE.sRGBEncoding;
    this.renderer.shadowMap.enabled = true; this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.camera = new THREE.PerspectiveCamera(28, 1, 0.02 * scene.radius, 400 * scene.radius);
    this.camera.up.copy(this.up); this.follow = scene.follows;
    this.light(); this.floor(); this.bodies(); this.home(); this.show(0);
  }

  layer(name) { // the group of a layer; it can be switched
    if (!this.layers.has(name)) {
      const group = new THREE.Group();
      group.visible = !HIDDEN.has(name); this.world.add(group); this.layers.set(name, group);
    }
    return this.layers.get(name);
  }

  light() {
    const eye = vec(this.scene.eye), side = eye.clone().cross(this.up).normalize(), reach = 1.5 * this.scene.radius;
    const sky = new THREE.HemisphereLight(0xffffff, 0xa9b3bd, 0.72); sky.position.copy(this.up);
    this.sun = new THREE.DirectionalLight(0xfffaf2, 0.68); this.sun.castShadow = true;
    this.sunAt = this.up.clone().multiplyScalar(2.6).addScaledVector(eye, 1.0).addScaledVector(side, -1.3)
      .normalize().multiplyScalar(4 * reach);
    Object.assign(this.sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * reach,
      far: 9 * reach });
    this.sun.shadow.mapSize.set(1024, 1024); this.sun.shadow.bias = -0.0006; this.sun.shadow.normalBias = 0.004 * reach;
    this.sun.shadow.radius = 2.5;
    const fill = new THREE.DirectionalLight(0xe4eeff, 0.22); fill.position.copy(eye).addScaledVector(side, 1.2);
    this.world.add(sky, this.sun, this.sun.target, fill);
  }

  floor() { // lines that fade out, and a disc for the shadows: few pixels, since software has to draw them too
    const cell = nice(0.55 * this.scene.radius), n = Math.ceil(6.5 * this.scene.radius / cell), R = n * cell;
    const at = [], colour = [], ink = shade("#8496a5");
    const put = (x, y, strong) => {
      at.push(x, y, 0); colour.push(ink.r, ink.g, ink.b, strong * Math.pow(Math.max(0, 1 - Math.hypot(x, y) / R), 1.8));
    };
    for (let k = -n; k <= n; k++) for (let i = -n; i < n; i++) {
      const strong = k % 5 ? 0.4 : 0.95;
      put(k * cell, i * cell, strong); put(k * cell, (i + 1) * cell, strong);
      put(i * cell, k * cell, strong); put((i + 1) * cell, k * cell, strong);
    }
    const lines = new THREE.BufferGeometry();
    lines.setAttribute("position", new THREE.Float32BufferAttribute(at, 3));
    lines.setAttribute("color", new THREE.Float32BufferAttribute(colour, 4));
    const grid = new THREE.LineSegments(lines, new THREE.LineBasicMaterial({ vertexColors: true, transparent: true,
      depthWrite: false }));
    this.shadow = new THREE.Mesh(new THREE.CircleGeometry(SHADE * this.scene.radius, 48),
      new THREE.ShadowMaterial({ opacity: 0.24, depthWrite: false }));
    this.shadow.receiveShadow = true;
    const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), this.up);
    this.ground = new THREE.Group(); this.ground.quaternion.copy(turn); this.ground.add(grid);
    this.shadow.quaternion.copy(turn); this.cell = cell; this.layer("floor").add(this.ground, this.shadow);
  }

  bodies() {
    this.placed = this.group(this.scene.nodes, name => this.layer(name), material({}));
    this.springs = this.stretched(this.layer("springs"), material({}));
    if (!this.scene.stretched.length) this.layers.delete("springs");
    this.arrows = this.scene.arrows.map(layer => {
      const made = new ArrowLayer(layer, this.scene.size); this.layer(layer.name).add(made.group); return made;
    });
    this.trails = this.scene.trails.map(trail => this.trail(trail));
    this.ghosts = this.scene.ghosts.map((ghost, k) => this.ghost(ghost, k, 0.22, "ghost"));
  }

  group(nodes, layerOf, look) { // one mesh for each body and layer; returns [frame, mesh]
    const together = new Map();
    for (const node of nodes) {
      const key = node.layer + "/" + node.frame;
      if (!together.has(key)) together.set(key, { layer: node.layer, frame: node.frame, parts: [] });
      for (const made of solid(node)) together.get(key).parts.push([made, shade(node.colour)]);
    }
    return [...together.values()].map(({ layer, frame, parts }) => {
      const over = OVERLAID.has(layer), mesh = new THREE.Mesh(merged(parts),
        over ? material({ depthTest: false, transparent: true }) : look);
      if (over) mesh.renderOrder = 5;
      mesh.castShadow = !over && layer !== "axes" && !look.transparent; mesh.receiveShadow = mesh.castShadow;
      layerOf(layer).add(mesh);
      return [frame, mesh];
    });
  }

  stretched(layer, look) {
    return this.scene.stretched.map(item => {
      const a = this.point(this.series.first, item.frames[0], item.a), b = this.point(this.series.first, item.frames[1], item.b);
      const made = new Stretched(item, a.distanceTo(b), look); layer.add(made.group); return made;
    });
  }

  ghost(series, number, opacity, layer) { // the same solids, translucent, on other poses
    const look = material({ transparent: true, opacity, depthWrite: opacity > 0.5 });
    const nodes = this.scene.nodes.filter(node => ["bodies", "joints"].includes(node.layer) && node.frame >= 0)
      .map(node => Object.assign({}, node, { layer: "bodies" }));
    return { series, placed: this.group(nodes, () => this.layer(layer), look),
      springs: this.stretched(this.layer(layer), look) };
  }

  trail(trail) {
    const points = [], n = this.series.count(), step = Math.max(1, Math.floor(n / 600));
    for (let k = 0; k < n; k += step) {
      const at = this.point(this.series.at(k), trail.frame, trail.at);
      if (!points.length || at.distanceTo(points[points.length - 1]) > 1e-5 * this.scene.size) points.push(at);
    }
    if (points.length < 2) return null;
    const tube = new THREE.TubeGeometry(new THREE.CatmullRomCurve3(points), points.length * 2, 0.004 * this.scene.size, 6);
    this.layer("trails").add(new THREE.Mesh(tube, new THREE.MeshBasicMaterial({ color: shade("#c4564a") })));
    return tube;
  }

  point(pose, frame, local) {
    const at = vec(local);
    return frame < 0 ? at : at.applyQuaternion(pose.e[frame]).add(pose.p[frame]);
  }

  put(pose, placed, springs) {
    for (const [frame, mesh] of placed) if (frame >= 0) {
      mesh.position.copy(pose.p[frame]); mesh.quaternion.copy(pose.e[frame]);
    }
    for (const s of springs) s.place(this.point(pose, s.item.frames[0], s.item.a), this.point(pose, s.item.frames[1], s.item.b));
  }

  show(time) {
    this.time = time; this.dirty = true;
    const pose = this.arrived ? this.arrived.pose : this.series.pose(time);
    this.put(pose, this.placed, this.springs);
    for (const layer of this.arrows) if (layer.group.parent.visible)
      layer.place(this.series.row(layer.layer.at, time), this.series.row(layer.layer.vectors, time));
    for (const ghost of this.ghosts) this.put(this.series.pose(time, ghost.series), ghost.placed, ghost.springs);
    this.look();
  }

  // ---- the eye

  home() {
    this.distance = 0; this.shift = new THREE.Vector3(); this.middle = this.series.middle();
    this.orbit = new THREE.Spherical().setFromVector3(vec(this.scene.eye).applyQuaternion(this.upright()));
  }

  upright() { return new THREE.Quaternion().setFromUnitVectors(this.up, new THREE.Vector3(0, 1, 0)); }

  target() {
    const now = this.arrived ? this.arrived.centre.clone() : this.series.centre(this.time);
    return (this.follow ? now : this.middle.clone()).add(this.shift);
  }

  arrive(time, pose) { // a pose of a march under way; the picture makes room for where it goes
    const reached = new THREE.Box3(), corner = new THREE.Vector3();
    for (const [frame, mesh] of this.placed) if (frame >= 0 && mesh.castShadow) {
      if (!mesh.geometry.boundingBox) mesh.geometry.computeBoundingBox();
      const { min, max } = mesh.geometry.boundingBox;
      for (let k = 0; k < 8; k++) reached.expandByPoint(corner
        .set(k & 1 ? min.x : max.x, k & 2 ? min.y : max.y, k & 4 ? min.z : max.z)
        .applyQuaternion(pose.e[frame]).add(pose.p[frame]));
    }
    if (!this.arrived) this.seen = new THREE.Box3().setFromCenterAndSize(this.middle, vec(this.scene.all_boxes).multiplyScalar(2));
    this.arrived = { pose, centre: reached.getCenter(new THREE.Vector3()) };
    this.seen.union(reached).getCenter(this.middle);
    const half = reached.getSize(corner).multiplyScalar(0.5).toArray(), all = this.seen.getSize(new THREE.Vector3()).multiplyScalar(0.5);
    this.scene.box = this.scene.box.map((x, k) => Math.max(x, half[k])); this.scene.all_boxes = all.toArray();
    if (all.length() > FAR * this.scene.radius && !this.gone) this.follow = this.gone = true; // on long ways, from there on
    this.show(time);
  }

  fitted(turn) { // how far away every corner of the box around what is seen is in the picture
    const box = this.follow ? this.scene.box : this.scene.all_boxes, tall = Math.tan(this.camera.fov * Math.PI / 360);
    const inverse = turn.clone().invert(), wide = tall * this.camera.aspect; let far = 0;
    for (let k = 0; k < 8; k++) {
      const corner = new THREE.Vector3(k & 1 ? box[0] : -box[0], k & 2 ? box[1] : -box[1], k & 4 ? box[2] : -box[2]);
      corner.applyQuaternion(inverse);
      far = Math.max(far, corner.z + Math.abs(corner.y) / tall, corner.z + Math.abs(corner.x) / wide);
    }
    return 1.12 * far;
  }

  look() {
    const target = this.target(), away = new THREE.Vector3().setFromSpherical(this.orbit.makeSafe())
      .applyQuaternion(this.upright().invert());
    this.camera.position.copy(target).add(away); this.camera.lookAt(target);
    this.camera.position.copy(target)
      .addScaledVector(away, this.fitted(this.camera.quaternion) * Math.exp(this.distance) / away.length());
    this.sun.target.position.copy(target); this.sun.position.copy(target).add(this.sunAt);
    const flat = target.clone().addScaledVector(this.up, this.scene.floor - target.dot(this.up));
    this.shadow.position.copy(flat).addScaledVector(this.sunAt.clone().projectOnPlane(this.up).normalize(), -0.6 * this.scene.radius);
    const local = flat.clone().applyQuaternion(this.ground.quaternion.clone().invert());
    local.x = Math.round(local.x / this.cell / 5) * this.cell * 5; local.y = Math.round(local.y / this.cell / 5) * this.cell * 5;
    this.ground.position.copy(local.applyQuaternion(this.ground.quaternion));
    this.dirty = true;
  }

  resize(width, height, ratio) {
    this.renderer.setPixelRatio(ratio); this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1); this.camera.updateProjectionMatrix(); this.look();
  }

  picture(width, height, fine) { // drawn `fine` times as large, then reduced
    const canvas = document.createElement("canvas"); canvas.width = width; canvas.height = height;
    const paint = canvas.getContext("2d"); sky(paint, width, height);
    this.resize(width, height, fine); this.draw();
    paint.imageSmoothingQuality = "high"; paint.drawImage(this.canvas, 0, 0, width, height);
    return canvas;
  }

  plain(on) { // shadows with hard edges, for machines that do not draw enough pictures per second
    const type = on ? THREE.BasicShadowMap : THREE.PCFShadowMap;
    if (this.renderer.shadowMap.type === type) return;
    this.renderer.shadowMap.type = type; this.dirty = true;
    this.world.traverse(thing => { if (thing.receiveShadow) thing.material.needsUpdate = true; });
  }

  draw() { this.dirty = false; this.renderer.render(this.world, this.camera); }
}

function nice(x) { // the number of 1, 2, 5 times a power of ten that is next below
  const power = Math.pow(10, Math.floor(Math.log10(x)));
  return power * (x >= 5 * power ? 5 : x >= 2 * power ? 2 : 1);
}

function software() { // whether a processor draws instead of a graphics card: edges are smoothed in pictures only then
  const gl = document.createElement("canvas").getContext("webgl"), names = gl && gl.getExtension("WEBGL_debug_renderer_info");
  const name = names ? String(gl.getParameter(names.UNMASKED_RENDERER_WEBGL)) : "";
  if (gl && gl.getExtension("WEBGL_lose_context")) gl.getExtension("WEBGL_lose_context").loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}

function sky(paint, width, height) { // what the style sheet paints behind the canvas
  const wash = paint.createLinearGradient(0, 0, 0, height);
  wash.addColorStop(0, "#f7f9fb"); wash.addColorStop(0.52, "#eef2f5"); wash.addColorStop(1, "#dde4ea");
  paint.fillStyle = wash; paint.fillRect(0, 0, width, height);
}
