// Reads kernel data about the processes of a container.
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { bytesOf } from './compose-service.mjs';

/** Paths of a container's control group limits, in version 2 or 1. */
const MEMORY = ['memory.max', 'memory/memory.limit_in_bytes'];
const PIDS = ['pids.max', 'pids/pids.max'];

/** The parts of a service's hardening that are not in effect for its processes, as sentence endings. */
export async function hardeningProblems(pids, service) {
  const node = nodeOf(pids);
  const status = statusOf(node);
  const root = /^\S+ \S+ \S+ \S+ \/ (\S+)/m.exec(readFileSync(`/proc/${node}/mountinfo`, 'utf8'))?.[1] ?? '';
  const preload = service.environment.LD_PRELOAD;
  const { memory, pids: most } = service.deploy.resources.limits;
  const checks = [
    [status('Uid').split(/\s+/)[0] === '1000', 'does not run as user 1000'],
    [/^0+$/.test(status('CapEff')) && /^0+$/.test(status('CapBnd')), 'has capabilities'],
    [status('NoNewPrivs') === '1', 'may gain privileges'],
    [root.split(',').includes('ro'), 'can write to its root'],
    [pids.length <= 2, 'does not run right below the init: something between would keep signals from it'],
    [
      preload === undefined || readFileSync(`/proc/${node}/maps`, 'utf8').includes('libjemalloc'),
      'has not loaded jemalloc',
    ],
    [limitOf(node, MEMORY) === bytesOf(memory), `is not held to ${memory} of memory`],
    [limitOf(node, PIDS) === most, `is not held to ${most} processes`],
  ];
  return checks.filter(([holds]) => !holds).map(([, problem]) => problem);
}

/** The program's memory as text. */
export function figuresOf(pids) {
  const kilobytes = Number.parseInt(statusOf(nodeOf(pids))('VmRSS'), 10);
  return `${Math.round(kilobytes / 1_000)} MB RSS`;
}

/** A limit as the container sees it; NaN for none. */
function limitOf(pid, files) {
  const paths = files.map((file) => `/proc/${pid}/root/sys/fs/cgroup/${file}`);
  const path = paths.find((one) => existsSync(one));
  if (path === undefined) throw new Error(`the container can't read its limits: none of ${paths.join(', ')} is there`);
  return Number(readFileSync(path, 'utf8'));
}

function nodeOf(pids) {
  const found = pids.find((pid) => readlinkSync(`/proc/${pid}/exe`).endsWith('/node'));
  if (found === undefined) throw new Error('no Node runs in the container');
  return found;
}

function statusOf(pid) {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (name) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(text)?.[1].trim() ?? '';
}
