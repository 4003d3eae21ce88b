import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';

/** By how many MB (10^6 bytes) the resident memory of a process grew at most during an action. */
export async function peakDuring(pid: number, work: () => Promise<void>): Promise<number> {
  // Makes the present size the highest so far.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = highestMb(pid);
  await work();
  return Math.round(highestMb(pid) - before);
}

function highestMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024) / 1e6;
}

/** Number of a process's open TCP connections to a service on this machine. */
export function connectionsTo(pid: number, serviceUrl: string): number {
  const port = Number(new URL(serviceUrl).port).toString(16).toUpperCase().padStart(4, '0');
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`))?.[1] ?? [];
      } catch {
        // Closed in the meantime.
        return [];
      }
    }),
  );
  const ESTABLISHED = '01';
  const connected = ['tcp', 'tcp6']
    .flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[2]?.endsWith(`:${port}`) && columns[3] === ESTABLISHED)
    .flatMap((columns) => columns[9] ?? []);
  // The kernel may list a socket twice while others open and close.
  return new Set(connected.filter((inode) => own.has(inode))).size;
}
