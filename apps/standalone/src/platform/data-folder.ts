import { constants, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { access, chmod, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PACKAGE_ROOT } from '#config/package.js';
import { SetupError } from '#embedded/setup-error.js';

/** The paths below DATA_DIR. */
export class DataFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  get secrets(): string {
    return join(this.path, 'secrets.json');
  }

  get state(): string {
    return join(this.path, 'standalone.json');
  }

  get lock(): string {
    return join(this.path, 'standalone.lock');
  }

  get firstImage(): string {
    return join(this.path, 'first-image.png');
  }

  /** The folder of an embedded service. */
  service(name: 'postgres' | 'redis'): string {
    return join(this.path, name);
  }

  log(name: string): string {
    return join(this.path, 'logs', `${name}.log`);
  }

  /** All log files: of the API, the workers, and the embedded services. */
  get logs(): string[] {
    return ['api', 'worker', 'postgres', 'redis'].map((name) => this.log(name));
  }

  /**
   * Folders for downloaded programs: first beside the packages, so that several data folders share them, and DATA_DIR
   * when that is not writable.
   */
  get toolFolders(): string[] {
    return [join(PACKAGE_ROOT, 'node_modules', '.cache', 'darkroom'), join(this.path, 'tools')];
  }

  /** Creates the folder with mode 0700. Throws SetupError. */
  async prepare(): Promise<void> {
    try {
      await mkdir(join(this.path, 'logs'), { recursive: true, mode: 0o700 });
      await chmod(this.path, 0o700);
      await access(this.path, constants.W_OK);
    } catch (error) {
      throw new SetupError(`DATA_DIR ${this.path} can't be used: ${(error as Error).message}`);
    }
  }
}

/** Replaces the file atomically, mode 0600: a reader sees either the old text or the new one. */
export function writeWhole(file: string, value: object): void {
  const unfinished = `${file}.${process.pid}.new`;
  writeFileSync(unfinished, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(unfinished, file);
}

/** The JSON object in the file; undefined when there is no file. Throws SetupError when it can't be parsed. */
export function readWhole(file: string): Record<string, unknown> | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new SetupError(`${file} can't be read: ${(error as Error).message}`);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below, together with JSON that is not an object.
  }
  throw new SetupError(`${file} is damaged. Restore it from a backup, or remove it if you don't need it.`);
}

/** Removes the file if it exists. */
export function remove(file: string): void {
  rmSync(file, { force: true });
}
