"use strict";
// Solids: what a scene describes becomes triangles of three.js. Everything of one body and layer is one mesh.

function vec(x) { return new THREE.Vector3(x[0], x[1], x[2]); }

function along(axis) { // the turn that takes y to an axis
  return new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), axis.clone().normalize());
}

function turned(wxyz) { return new THREE.Quaternion(wxyz[1], wxyz[2], wxyz[3], wxyz[0]).normalize(); }

// How many corners a circle has: as many as keep its outline within COARSE of the size of what is seen.
const COARSE = 4e-4, CORNERS = [6, 48];
let SIZE = 1;

function corners(radius) {
  const miss = Math.min(1, COARSE * SIZE / radius), n = Math.ceil(Math.PI / Math.acos(1 - miss));
  return Math.max(CORNERS[0], Math.min(CORNERS[1], n + n % 2));
}

// A capsule whose ends have two radii: the common tangent cone touches both balls.
function capsule(a, b, radii) {
  const start = vec(a), end = vec(b), way = end.clone().sub(start), length = way.length();
  const [r0, r1] = radii, sine = Math.max(-1, Math.min(1, (r0 - r1) / length)), tilt = Math.asin(sine);
  const round = corners(Math.max(r0, r1)), n = Math.max(2, Math.round(round / 4));
  const profile = [];
  for (let k = 0; k <= n; k++) {
    const x = -Math.PI / 2 + (tilt + Math.PI / 2) * k / n;
    profile.push(new THREE.Vector2(Math.max(r0 * Math.cos(x), 1e-9), r0 * Math.sin(x)));
  }
  for (let k = 0; k <= n; k++) {
    const x = tilt + (Math.PI / 2 - tilt) * k / n;
    profile.push(new THREE.Vector2(Math.max(r1 * Math.cos(x), 1e-9), length + r1 * Math.sin(x)));
  }
  return new THREE.LatheGeometry(profile, round).applyQuaternion(along(way)).translate(...a);
}

function rod(a, b, radius) {
  const start = vec(a), way = vec(b).sub(start), middle = start.addScaledVector(way, 0.5);
  return new THREE.CylinderGeometry(radius, radius, way.length(), corners(radius)).applyQuaternion(along(way))
    .translate(middle.x, middle.y, middle.z);
}

function ring(node) {
  const axis = vec(node.axis), parts = [];
  const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), axis.normalize());
  parts.push(new THREE.TorusGeometry(node.radius - node.tube, node.tube, corners(node.tube), corners(node.radius)));
  for (let k = 0; k < node.spokes; k++) {
    const angle = Math.PI * 2 * k / node.spokes, r = node.radius - 1.8 * node.tube;
    parts.push(rod([0, 0, 0], [r * Math.cos(angle), r * Math.sin(angle), 0], 0.16 * node.tube));
  }
  return parts.map(part => part.applyQuaternion(turn).translate(...node.at));
}

function surface(node) {
  let made = new THREE.BufferGeometry();
  made.setAttribute("position", new THREE.Float32BufferAttribute(node.vertices, 3));
  made.setIndex(node.faces);
  if (!node.smooth) made = made.toNonIndexed();
  made.computeVertexNormals();
  return made;
}

function path(node) {
  const points = [];
  for (let k = 0; k < node.points.length; k += 3) points.push(vec(node.points.slice(k, k + 3)));
  return new THREE.TubeGeometry(new THREE.CatmullRomCurve3(points), Math.max(2, 2 * points.length), node.radius, corners(node.radius));
}

function solid(node) { // the geometries of a node, in axes of its body
  if (node.kind === "capsule") return [capsule(node.a, node.b, node.radii)];
  if (node.kind === "cylinder") return [rod(node.a, node.b, node.radius)];
  if (node.kind === "ring") return ring(node);
  if (node.kind === "surface") return [surface(node)];
  if (node.kind === "path") return [path(node)];
  const round = node.kind === "box" ? 0 : corners(Math.max(...node.radii));
  const made = round ? new THREE.SphereGeometry(1, round, round / 2).scale(...node.radii) : new THREE.BoxGeometry(...node.size);
  return [made.applyQuaternion(turned(node.turn)).translate(...node.at)];
}

function shade(colour) { return new THREE.Color(colour).convertSRGBToLinear(); }

function merged(parts) { // [geometry, colour] -> one geometry with colours at its vertices
  const position = [], normal = [], colour = [], index = [];
  for (const [geometry, tint] of parts) {
    const first = position.length / 3, p = geometry.attributes.position, n = geometry.attributes.normal;
    for (let k = 0; k < p.count; k++) {
      position.push(p.getX(k), p.getY(k), p.getZ(k));
      normal.push(n.getX(k), n.getY(k), n.getZ(k));
      colour.push(tint.r, tint.g, tint.b);
    }
    if (geometry.index) for (const k of geometry.index.array) index.push(first + k);
    else for (let k = 0; k < p.count; k++) index.push(first + k);
  }
  const made = new THREE.BufferGeometry();
  made.setAttribute("position", new THREE.Float32BufferAttribute(position, 3));
  made.setAttribute("normal", new THREE.Float32BufferAttribute(normal, 3));
  made.setAttribute("color", new THREE.Float32BufferAttribute(colour, 3));
  made.setIndex(index);
  return made;
}

function material(options) {
  return new THREE.MeshPhongMaterial(Object.assign({ vertexColors: true, shininess: 38, specular: 0x2a2a2a }, options));
}

// What is stretched between two points: made along y from 0 to its first length, scaled to what it is.
class Stretched {
  constructor(item, length, look) {
    this.item = item; this.length = Math.max(length, 1e-9); this.group = new THREE.Group();
    const r = item.radius, tint = shade(item.colour), grey = shade("#8a939e");
    const add = parts => {
      const mesh = new THREE.Mesh(merged(parts), look);
      mesh.castShadow = true; this.group.add(mesh); return mesh;
    };
    if (item.kind === "coil") {
      const turns = Math.max(4, Math.min(14, Math.round(this.length / r / 1.1))), lead = 0.1, points = [];
      const wire = 0.13 * r, n = Math.max(12, corners(r)) * turns;
      for (let k = 0; k <= n; k++) {
        const s = k / n, x = 2 * Math.PI * turns * s, ease = Math.min(1, 8 * s, 8 * (1 - s));
        points.push(new THREE.Vector3(ease * (r - wire) * Math.cos(x), (lead + (1 - 2 * lead) * s) * this.length,
          ease * (r - wire) * Math.sin(x)));
      }
      points.unshift(new THREE.Vector3(0, 0, 0)); points.push(new THREE.Vector3(0, this.length, 0));
      add([[new THREE.TubeGeometry(new THREE.CatmullRomCurve3(points), points.length, wire, corners(wire)), tint]]);
    } else if (item.kind === "damper") {
      this.case = add([[rod([0, 0.12 * length, 0], [0, 0.62 * length, 0], r), tint],
        [rod([0, 0, 0], [0, 0.14 * length, 0], 0.4 * r), grey]]);
      this.piston = add([[rod([0, -0.6 * length, 0], [0, 0, 0], 0.4 * r), grey]]);
    } else add([[rod([0, 0, 0], [0, this.length, 0], r), tint]]);
  }

  place(a, b) {
    const way = b.clone().sub(a), length = way.length();
    this.group.position.copy(a);
    if (length > 0) this.group.quaternion.copy(along(way));
    if (this.piston) this.piston.position.y = length;
    else this.group.scale.y = length / this.length;
  }
}

// Arrows of one layer: shafts and heads, as many as there are labels, each drawn once for all.
class ArrowLayer {
  constructor(layer, size) {
    const n = layer.labels.length, paint = new THREE.MeshPhongMaterial({ color: shade(layer.colour), shininess: 20 });
    this.size = size; this.layer = layer; this.group = new THREE.Group();
    this.shaft = new THREE.InstancedMesh(new THREE.CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0), paint, n);
    this.head = new THREE.InstancedMesh(new THREE.ConeGeometry(1, 1, 16).translate(0, 0.5, 0), paint, n);
    for (const mesh of [this.shaft, this.head]) { mesh.frustumCulled = false; this.group.add(mesh); }
  }

  place(at, vectors) { // flat lists of world coordinates
    const matrix = new THREE.Matrix4(), scale = new THREE.Vector3(), thick = 0.0065 * this.size;
    for (let k = 0; k < this.layer.labels.length; k++) {
      const start = vec(at.slice(3 * k, 3 * k + 3)), way = vec(vectors.slice(3 * k, 3 * k + 3));
      const length = way.length() * this.layer.scale, seen = length > 1e-3 * this.size ? 1 : 0;
      const point = seen ? Math.min(0.055 * this.size, 0.5 * length) : 0, r = seen * Math.min(thick, 0.12 * length);
      const turn = seen ? along(way) : new THREE.Quaternion();
      matrix.compose(start, turn, scale.set(r, seen * (length - point), r)); this.shaft.setMatrixAt(k, matrix);
      const neck = start.clone().addScaledVector(way.normalize(), seen * (length - point));
      matrix.compose(neck, turn, scale.set(2.6 * r, point, 2.6 * r)); this.head.setMatrixAt(k, matrix);
    }
    this.shaft.instanceMatrix.needsUpdate = this.head.instanceMatrix.needsUpdate = true;
  }
}
