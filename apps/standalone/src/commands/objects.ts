import { loadConfig } from '#config/load-config.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import { Logger } from '#telemetry/logger.js';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { MissingObjects } from './missing-objects.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { DataFolder } from '../platform/data-folder.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
import { requireDatabaseUrl, withDatabase } from '../platform/running.js';
import { runTerminalCommand, terminalCommand } from './terminal-command.js';

interface Options {
  readonly repair?: boolean;
}

/**
 * `objects [--repair]`: finds rows without objects and objects without rows; returns how many remain. Throws
 * SetupError.
 */
export async function objects(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<number> {
  const [config] = loadConfig([StandaloneConfig], env);
  const [storage] = loadConfig([StorageConfig], { ...env, DATA_DIR: new DataFolder(config.dataDir).path });
  let left = 0;
  const program = terminalCommand(
    'objects',
    'Compares the database with the object store, for example after a restore.',
    say,
  )
    .option('--repair', 'delete objects without a row, and mark rows whose object is missing')
    .action(async ({ repair = false }: Options) => {
      const store = await createObjectStore(storage);
      left = await withDatabase(requireDatabaseUrl(config), async (database) => {
        const [tasks, uploads] = [new TaskObjects(database), new UploadRepository(database)];
        const [found, repaired] = [{ count: 0 }, { count: 0 }];
        const tell = (what: string, done: boolean): void => {
          found.count++;
          if (done) repaired.count++;
          say(`${what}${done ? ': repaired' : ''}`);
        };
        const missing = new MissingObjects(store, tasks, uploads);
        for await (const one of missing.find()) {
          tell(`${one.key} is missing (${one.kind} of ${one.id})`, repair && (await missing.repair(one)));
        }
        const orphans = new CollectOrphans(store, tasks, uploads, storage, new Logger('command', 'silent'));
        let young = 0;
        for await (const key of orphans.find(Date.now(), () => young++)) {
          if (repair) await store.delete(key);
          tell(`${key} belongs to no row`, repair);
        }
        if (young > 0)
          say(
            `${young} objects of the last ${storage.strayObjectRetentionHours} h (STRAY_OBJECT_RETENTION_HOURS) may be in use, and were not compared with the database.`,
          );
        say(`${found.count} found, ${repaired.count} repaired.`);
        return found.count - repaired.count;
      });
    });
  await runTerminalCommand(program, args);
  return left;
}
