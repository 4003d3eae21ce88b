import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, tail } from './run.mjs';

/** Folders that the engine and its runtime make wherever they work. */
const OUTSIDE = ['/run/runc', '/run/libpod', '/run/containers', '/var/lib/containers', '/var/tmp/buildah-cache'];
/** Of a step of the clean-up. */
const STOP_MS = 60_000;
/** The kernel's number of that file system. */
const OVERLAY = 0x794c7630;

/** Buildah and Podman with everything they keep in one folder, so that nothing of theirs is left when it is removed. */
export class Engine {
  constructor(folder) {
    this.folder = folder;
    this.containers = new Map();
    this.absent = OUTSIDE.filter((path) => !existsSync(path));
    const at = (name) => join(folder, name);
    // The group of every container, made by the engine and removed by nobody else.
    this.cgroup = `darkroom-image-${process.pid}`;
    mkdirSync(folder, { recursive: true });
    // Below a container's own root there can be no second overlay.
    const driver = statfsSync(folder).type === OVERLAY ? 'vfs' : 'overlay';
    // As arguments, for the engine hands on only those to the helper that ends a container.
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

  /** Answers with what it printed. Throws with the end of that when it fails. */
  async podman(args) {
    return await run('podman', [...this.stores, ...args], this.options);
  }

  /** Makes an image of one layer from a folder. */
  async import(root, tag) {
    const archive = join(this.folder, 'base.tar');
    await run('tar', ['--create', '--file', archive, '--directory', root, '.']);
    await this.podman(['import', '--quiet', archive, tag]);
    rmSync(archive);
  }

  /** Builds an image as the Dockerfile says, with the machine's network and images that are here already. */
  async build(context, dockerfile, tag) {
    const options = ['--isolation=chroot', '--network=host', '--pull=never', '--tag', tag, '--file', dockerfile];
    await run('buildah', [...this.stores, 'bud', ...options, context], this.options);
  }

  async bytesOf(tag) {
    return Number(await this.podman(['image', 'inspect', '--format', '{{.Size}}', tag]));
  }

  /** Runs a container until it ends, and answers with what it printed. */
  async once(flags, image, command) {
    return await this.podman(['run', '--rm', '--network=host', ...flags, image, ...command]);
  }

  /** Starts a container that goes on; `ended` resolves with its exit code. */
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

  /** SIGTERM, and after the grace SIGKILL, as compose stops a service; answers with the exit code. */
  async stop(name, graceSeconds) {
    const container = this.containers.get(name);
    await this.podman(['stop', '--time', String(graceSeconds), name]);
    return await container.ended;
  }

  /** The process ids of a container: of its init, of what that started, and so on. */
  async processesOf(name) {
    const first = Number(await this.podman(['inspect', '--format', '{{.State.Pid}}', name]));
    const below = (pid) => [pid, ...childrenOf(pid).flatMap(below)];
    return below(first);
  }

  /** The last lines of what a container printed. */
  linesOf(name) {
    return tail(this.containers.get(name)?.text ?? '');
  }

  /** Removes containers, mounts and control groups, and the folder last. */
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

/** Removes a folder, never what is mounted in it. Throws when something stays mounted. */
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

/** Empty control groups of ours, in every hierarchy. */
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
