import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, tail } from './run.mjs';

/** Folders that the engine and its runtime create wherever they run. */
const OUTSIDE = ['/run/runc', '/run/libpod', '/run/containers', '/var/lib/containers', '/var/tmp/buildah-cache'];
/** For each step of the clean-up. */
const STOP_MS = 60_000;
/** The kernel's magic number of overlayfs. */
const OVERLAY = 0x794c7630;

/** Buildah and Podman with all their data in one folder, so that removing it leaves nothing behind. */
export class Engine {
  constructor(folder) {
    this.folder = folder;
    this.containers = new Map();
    this.absent = OUTSIDE.filter((path) => !existsSync(path));
    const at = (name) => join(folder, name);
    // Parent group of all containers; the engine creates it, but does not remove it.
    this.cgroup = `darkroom-image-${process.pid}`;
    mkdirSync(folder, { recursive: true });
    // Overlay file systems can't be nested inside a container.
    const driver = statfsSync(folder).type === OVERLAY ? 'vfs' : 'overlay';
    // As arguments, because the engine passes only those to the helper that cleans up containers.
    this.stores = ['--root', at('storage'), '--runroot', at('run'), '--storage-driver', driver];
    writeFileSync(at('registries.conf'), 'unqualified-search-registries = []\n');
    writeFileSync(
      at('containers.conf'),
      [
        ...['[containers]', 'default_ulimits = []', 'log_driver = "none"'],
        ...['[engine]', 'cgroup_manager = "cgroupfs"', 'events_logger = "none"', 'lock_type = "file"'],
        ...['runtime = "runc"', `static_dir = "${at('libpod')}"`, `tmp_dir = "${at('tmp')}"`],
        ...[`volume_path = "${at('volumes')}"`, `network_cmd_path = ""`],
      ].join('\n'),
    );
    const files = { CONTAINERS_CONF: at('containers.conf'), CONTAINERS_REGISTRIES_CONF: at('registries.conf') };
    this.options = { env: { ...process.env, ...files, TMPDIR: folder } };
  }

  /** Returns the output. Throws with its end on failure. */
  async podman(args) {
    return await run('podman', [...this.stores, ...args], this.options);
  }

  /** Creates an image with one layer from a folder. */
  async import(root, tag) {
    const archive = join(this.folder, 'base.tar');
    await run('tar', ['--create', '--file', archive, '--directory', root, '.']);
    await this.podman(['import', '--quiet', archive, tag]);
    rmSync(archive);
  }

  /** Builds an image from the Dockerfile, with the machine's network and only local images. */
  async build(context, dockerfile, tag) {
    const options = ['--isolation=chroot', '--network=host', '--pull=never', '--tag', tag, '--file', dockerfile];
    await run('buildah', [...this.stores, 'bud', ...options, context], this.options);
  }

  async bytesOf(tag) {
    return Number(await this.podman(['image', 'inspect', '--format', '{{.Size}}', tag]));
  }

  /** Runs a container until it exits, and returns its output. */
  async once(flags, image, command) {
    return await this.podman(['run', '--rm', '--network=host', ...flags, image, ...command]);
  }

  /** Starts a container in the background; `ended` resolves with its exit code. */
  start(name, flags, image, command) {
    const args = [...this.stores, 'run', '--rm', '--network=host', '--name', name, ...flags, image, ...command];
    const child = spawn('podman', args, { ...this.options, stdio: ['ignore', 'pipe', 'pipe'] });
    const container = { name, text: '', code: undefined };
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (container.text += text));
    container.ended = once(child, 'exit').then(([code]) => (container.code = code));
    this.containers.set(name, container);
    return container;
  }

  /** Runs a command inside a container; false when it fails. */
  async succeeds(name, command) {
    return await this.podman(['exec', name, ...command]).then(
      () => true,
      () => false,
    );
  }

  /** SIGTERM, then SIGKILL after the grace time, like compose; returns the exit code. */
  async stop(name, graceSeconds) {
    const container = this.containers.get(name);
    await this.podman(['stop', '--time', String(graceSeconds), name]);
    return await container.ended;
  }

  /** The process ids of a container: its init process and all descendants. */
  async processesOf(name) {
    const first = Number(await this.podman(['inspect', '--format', '{{.State.Pid}}', name]));
    const below = (pid) => [pid, ...childrenOf(pid).flatMap(below)];
    return below(first);
  }

  /** The last lines of what a container printed. */
  linesOf(name) {
    return tail(this.containers.get(name)?.text ?? '');
  }

  /** Removes containers, mounts and control groups, and finally the folder. */
  async remove() {
    const quietly = async (program, args) =>
      await run(program, args, { ...this.options, timeout: STOP_MS, signal: undefined }).catch(() => undefined);
    await quietly('podman', [...this.stores, 'rm', '--all', '--force', '--time', '0']);
    await Promise.all([...this.containers.values()].map(({ ended }) => ended));
    await quietly('buildah', [...this.stores, 'rm', '--all']);
    removeGroups(this.cgroup);
    for (const path of this.absent) await removeFolder(path);
    await removeFolder(this.folder);
  }
}

function childrenOf(pid) {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

/** Removes a folder, but never the content of mounts in it. Throws when something stays mounted. */
export async function removeFolder(folder) {
  for (const mount of mountsBelow(folder)) await run('umount', ['--lazy', mount], { signal: undefined });
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Innermost first. */
function mountsBelow(folder) {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length);
}

/** Removes our empty control groups from every hierarchy. */
function removeGroups(name) {
  const top = '/sys/fs/cgroup';
  for (const folder of [top, ...readdirSync(top).map((hierarchy) => join(top, hierarchy))]) {
    try {
      for (const child of readdirSync(join(folder, name), { withFileTypes: true }))
        if (child.isDirectory()) rmdirSync(join(folder, name, child.name));
      rmdirSync(join(folder, name));
    } catch {
      // Not in this hierarchy.
    }
  }
}
