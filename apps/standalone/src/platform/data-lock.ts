import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { isRunning, processStartTime, stopProcess } from '#embedded/leftover.js';
import { SetupError } from '#embedded/setup-error.js';
import { remove } from './data-folder.js';

interface Holder {
  readonly pid: number;
  /** Start time of the process, in the operating system's format. */
  readonly mark: string;
}

interface LockText extends Holder {
  readonly children: readonly Holder[];
}

/**
 * Allows one product per data folder. The lock file also lists the child processes, so that the next start can stop
 * those that a killed product left behind.
 */
export class DataLock {
  private released = false;
  private writing: Promise<void> = Promise.resolve();

  private constructor(
    private readonly file: string,
    private readonly holder: Holder,
  ) {}

  /**
   * Takes the lock, and stops the processes that a dead holder left behind. Throws SetupError while another product
   * runs.
   */
  static async take(file: string): Promise<DataLock> {
    const holder = { pid: process.pid, mark: await processStartTime(process.pid) };
    const text = JSON.stringify({ ...holder, children: [] });
    for (let attempt = 0; attempt < 5; attempt++) {
      if (tryLink(file, text)) return new DataLock(file, holder);
      const found = readLock(file);
      if (found !== undefined && (await isSame(found)))
        throw new SetupError(
          `Darkroom already runs on this data folder (process ${found.pid}). ` +
            'Stop it first, or use another folder with DATA_DIR.',
        );
      if (!removeDeadLock(file, found)) continue;
      for (const child of found?.children ?? []) {
        if (await isSame(child)) await stopProcess(child.pid, [['SIGTERM', 10_000]]);
      }
    }
    throw new SetupError(`The lock ${file} can't be acquired; remove it if no other Darkroom uses this data folder.`);
  }

  /** Saves the ids of the holder's current child processes. */
  remember(pids: readonly number[]): Promise<void> {
    // Writes run one after the other, so that the newest list wins.
    this.writing = this.writing.then(() => this.write(pids));
    return this.writing;
  }

  private async write(pids: readonly number[]): Promise<void> {
    const children = await Promise.all(pids.map(async (pid) => ({ pid, mark: await processStartTime(pid) })));
    if (this.released) return;
    const unfinished = `${this.file}.new`;
    writeFileSync(unfinished, JSON.stringify({ ...this.holder, children }), { mode: 0o600 });
    renameSync(unfinished, this.file);
  }

  release(): void {
    this.released = true;
    remove(this.file);
  }
}

/** Creates the lock file atomically, with its content. */
function tryLink(file: string, text: string): boolean {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, text, { mode: 0o600 });
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(own);
  }
}

/** Removes a dead holder's lock. False when another process has already replaced it; that lock then stays. */
function removeDeadLock(file: string, found: LockText | undefined): boolean {
  const aside = `${file}.${process.pid}.old`;
  try {
    renameSync(file, aside);
  } catch {
    return false;
  }
  const moved = readLock(aside);
  const same = moved?.pid === found?.pid && moved?.mark === found?.mark;
  if (!same) linkSync(aside, file);
  unlinkSync(aside);
  return same;
}

function readLock(file: string): LockText | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as LockText;
  } catch {
    return undefined;
  }
}

async function isSame({ pid, mark }: Holder): Promise<boolean> {
  return isRunning(pid) && (await processStartTime(pid)) === mark;
}
