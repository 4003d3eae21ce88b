// Replaces the official Node image of the Dockerfile: Debian from the mirror of this machine's apt, Node and npm from
// their packages. Needs no image registry.
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.mjs';

/** The npm version of Node 22. */
const NPM = '10.9.4';
/** The package with Node for this machine. */
const NODE = `node-linux-${process.arch}`;
/** The official image leaves these out of Debian, too. */
const LEFT_OUT = ['usr/share/man', 'usr/share/locale', 'usr/share/info', 'var/cache/apt', 'var/lib/apt/lists'];

/** Creates the root file system of the image `tag` in a folder, and returns it. */
export async function makeBase(tag, folder) {
  const [, node, suite] = /^node:([\d.]+)-([a-z]+)-slim$/.exec(tag) ?? [];
  if (suite === undefined)
    throw new Error(`NODE_IMAGE is ${tag}: this check can make node:<version>-<suite>-slim only`);
  const root = join(folder, 'root');
  const modules = join(folder, 'programs');
  mkdirSync(modules, { recursive: true });
  const npm = ['install', '--prefix', modules, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  // Waits for both, because one still running would write into a folder that is being removed.
  const results = await Promise.allSettled([
    run('debootstrap', ['--variant=minbase', suite, root, debianMirror()]),
    run('npm', [...npm, `${NODE}@${node}`, `npm@${NPM}`]),
  ]);
  for (const { status, reason } of results) if (status === 'rejected') throw reason;
  for (const path of LEFT_OUT) empty(join(root, path));
  addNode(root, join(modules, 'node_modules'));
  await addRegistry(root);
  for (const program of [
    ['groupadd', '--gid', '1000', 'node'],
    ['useradd', '--uid', '1000', '--gid', 'node', '--create-home', 'node'],
  ])
    await run('chroot', [root, ...program]);
  return root;
}

function empty(folder) {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
}

function addNode(root, modules) {
  const local = join(root, 'usr', 'local');
  copyFileSync(join(modules, NODE, 'bin', 'node'), join(local, 'bin', 'node'));
  chmodSync(join(local, 'bin', 'node'), 0o755);
  cpSync(join(modules, 'npm'), join(local, 'lib', 'node_modules', 'npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin', 'npm'));
}

/** npm in the build uses this machine's registry and trusted certificates. */
async function addRegistry(root) {
  const etc = join(root, 'usr', 'local', 'etc');
  mkdirSync(etc, { recursive: true });
  const lines = [`registry=${await run('npm', ['config', 'get', 'registry', '--loglevel=error'])}`];
  const trusted = process.env.NODE_EXTRA_CA_CERTS;
  if (trusted && existsSync(trusted)) {
    copyFileSync(trusted, join(etc, 'trusted.pem'));
    lines.push('cafile=/usr/local/etc/trusted.pem');
  }
  writeFileSync(join(etc, 'npmrc'), `${lines.join('\n')}\n`);
}

/** The first mirror of this machine's release in its apt sources. */
function debianMirror() {
  const release = readFileSync('/etc/os-release', 'utf8');
  const suite = /^VERSION_CODENAME="?(\w+)/m.exec(release)?.[1];
  const mirror = /^ID="?debian"?$/m.test(release)
    ? sources().find((source) => source.suites.includes(suite))
    : undefined;
  if (mirror === undefined)
    throw new Error('no mirror of Debian is named in /etc/apt: this check needs a Debian machine');
  return mirror.uri;
}

/** All package sources, from files of both formats. */
function sources() {
  const folder = '/etc/apt/sources.list.d';
  const names = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  return ['/etc/apt/sources.list', ...names].filter(existsSync).flatMap((file) => {
    const text = readFileSync(file, 'utf8').replace(/^\s*#.*\n?/gm, '');
    return file.endsWith('.sources') ? stanzas(text) : lines(text);
  });
}

function stanzas(text) {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const words = (name) => new RegExp(`^${name}:(.*)$`, 'm').exec(stanza)?.[1].trim().split(/\s+/) ?? [];
    const isDebian = words('Types').includes('deb') && words('Components').includes('main');
    return isDebian ? words('URIs').map((uri) => ({ uri, suites: words('Suites') })) : [];
  });
}

function lines(text) {
  return [...text.matchAll(/^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+.*\bmain\b/gm)].map(([, uri, suite]) => ({
    uri,
    suites: [suite],
  }));
}
