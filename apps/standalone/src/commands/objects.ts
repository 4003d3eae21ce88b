import { loadConfig } from '#config/load-config.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { StorageForbidden } from '#storage/object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { SetupError } from '#embedded/setup-error.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import { Logger } from '#telemetry/logger.js';
import { CollectOrphans, STRAY_OBJECT_HOURS } from '#uploads/collect-orphans.js';
import { MissingObjects } from './missing-objects.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { DataFolder } from '../platform/data-folder.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
import { requireDatabaseUrl, withDatabase } from '../platform/running.js';
import { commandLine, runTerminalCommand, terminalCommand } from './terminal-command.js';

/** A key without it can do everything else. */
const LIST = 's3:ListBucket';

interface Options {
  readonly repair?: boolean;
  readonly force?: boolean;
}

/** From this number of objects on, a store that has none of them is taken for the wrong one. */
const ALL_OF = 10;
/** The same for a store that has less than half of them. */
const MOST_OF = 20;

/**
 * `objects [--repair [--force]]`: finds rows without objects and objects without rows; returns how many remain. Throws
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
    .option('--force', 'repair even if most objects are missing')
    .action(async ({ repair = false, force = false }: Options) => {
      const store = await createObjectStore(storage);
      left = await withDatabase(requireDatabaseUrl(config), async (database) => {
        const tasks = new TaskObjects(database);
        const uploads = new UploadRepository(database);
        const found = { count: 0 };
        const repaired = { count: 0 };
        const tell = (what: string, done: boolean): void => {
          found.count++;
          if (done) repaired.count++;
          say(`${what}${done ? ': repaired' : ''}`);
        };
        const missing = new MissingObjects(store, tasks, uploads);
        if (repair && !force) await refuseWrongStore(missing, storage);
        for await (const one of missing.lookUp()) {
          if (!one.isMissing) continue;
          tell(`${one.key} is missing (${one.kind} of ${one.id})`, repair && (await missing.repair(one)));
        }
        const orphans = new CollectOrphans(store, tasks, uploads, new Logger('command', 'silent'));
        let young = 0;
        try {
          for await (const key of orphans.find(Date.now(), () => young++)) {
            if (repair) await orphans.remove(key);
            tell(`${key} belongs to no row`, repair);
          }
        } catch (error) {
          if (!(error instanceof StorageForbidden) || error.right !== LIST) throw error;
          say(`Objects without a row were not looked for: the access key has no right to list them (${LIST}).`);
        }
        if (young > 0)
          say(
            `${young} objects of the last ${STRAY_OBJECT_HOURS} h may be in use, and were not compared with the database.`,
          );
        say(`${found.count} found, ${repaired.count} repaired.`);
        return found.count - repaired.count;
      });
    });
  await runTerminalCommand(program, args);
  return left;
}

/** Throws SetupError when the settings most likely name another store than the one with the objects. */
async function refuseWrongStore(objects: MissingObjects, config: StorageConfig): Promise<void> {
  let named = 0;
  let missing = 0;
  for await (const { isMissing } of objects.lookUp()) {
    named++;
    if (isMissing) missing++;
  }
  const isWrong = named === missing ? named >= ALL_OF : named >= MOST_OF && missing > named / 2;
  if (!isWrong) return;
  const store = config.storage === 's3' ? `The bucket ${config.s3Bucket}` : `The folder ${config.dataDir}/objects`;
  throw new SetupError(
    `${store} lacks ${missing} of ${named} objects, so the settings may name the wrong store; nothing was repaired. ` +
      `If these objects are lost, run \`${commandLine('objects')} --repair --force\`.`,
  );
}
