import { decodeTime } from 'ulid';
import type { Database } from '#database/database.js';
import { ownerOfKey, thumbnailKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import type { Logger } from '#telemetry/logger.js';

/** Younger objects may belong to a request that is still being accepted or a picture that is just being settled. */
const MIN_AGE_MS = 24 * 3_600_000;
const BATCH = 500;

interface KnownRow {
  readonly id: string;
  readonly status: string;
  readonly hasThumbnail: boolean;
  readonly picture: string | null;
  readonly keys: readonly string[];
}

/** Removes objects that no row knows: of processes that died between storing bytes and writing the row. */
export class CollectOrphans {
  constructor(
    private readonly database: Database,
    private readonly store: ObjectStore,
    private readonly logger: Logger,
  ) {}

  /** One walk over all objects; `now` in ms since the epoch. Throws when the database or the store fails. */
  async run(now: number): Promise<number> {
    let collected = 0;
    let batch: string[] = [];
    for (const prefix of ['inputs/', 'results/', 'uploads/']) {
      for await (const key of this.store.list(prefix)) {
        if (!isOld(key, now)) continue;
        batch.push(key);
        if (batch.length < BATCH) continue;
        collected += await this.collect(batch);
        batch = [];
      }
    }
    collected += await this.collect(batch);
    if (collected > 0) this.logger.info('retention.orphans_deleted', { count: collected });
    return collected;
  }

  private async collect(keys: readonly string[]): Promise<number> {
    if (keys.length === 0) return 0;
    const known = await this.keysKnown(keys);
    const orphans = keys.filter((key) => !known.has(key));
    for (const key of orphans) await this.store.delete(key);
    return orphans.length;
  }

  /**
   * A pending task's own writers are left alone, whatever they have stored so far; a task whose objects were deleted has
   * none, so what a late writer left is found here.
   */
  private async keysKnown(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const ids = [...new Set(keys.map((key) => ownerOfKey(key).id))];
    const { rows } = await this.database.pool.query<KnownRow>({
      text: `SELECT id, status, has_thumbnail AS "hasThumbnail", images -> 0 ->> 'key' AS picture, ARRAY(SELECT jsonb_path_query(
          jsonb_build_array(images, inputs, mask), 'strict $.**.key') #>> '{}') AS keys
        FROM tasks WHERE id = ANY($1) AND objects_deleted_at IS NULL
        UNION ALL SELECT id, 'kept', false, NULL, ARRAY['uploads/' || id] FROM uploads WHERE id = ANY($1)`,
      values: [ids],
    });
    const pending = new Set(rows.filter((row) => row.status === 'pending').map((row) => row.id));
    return new Set([...rows.flatMap(keysOf), ...keys.filter((key) => pending.has(ownerOfKey(key).id))]);
  }
}

function keysOf({ keys, hasThumbnail, picture }: KnownRow): readonly string[] {
  return hasThumbnail && picture !== null ? [...keys, thumbnailKey(picture)] : keys;
}

function isOld(key: string, now: number): boolean {
  const { ulid } = ownerOfKey(key);
  return ulid !== '' && now - decodeTime(ulid) > MIN_AGE_MS;
}
