import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { ownerOfKey, thumbnailKey } from '#storage/object-key.js';

interface KnownRow {
  readonly id: string;
  readonly status: string;
  readonly hasThumbnail: boolean;
  readonly picture: string | null;
  readonly keys: readonly string[];
}

/** Which objects belong to tasks. */
@Injectable()
export class TaskObjects {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Those of the keys that a task knows. A pending task's own writers are left alone, whatever they have stored so far; a
   * task whose objects were deleted has none, so what a late writer left is found here. Throws when the database fails.
   */
  async known(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const { rows } = await this.prisma.pool.query<KnownRow>({
      text: `SELECT id, status, has_thumbnail AS "hasThumbnail", images -> 0 ->> 'key' AS picture, ARRAY(SELECT jsonb_path_query(
          jsonb_build_array(images, inputs, mask), 'strict $.**.key') #>> '{}') AS keys
        FROM tasks WHERE id = ANY($1) AND objects_deleted_at IS NULL`,
      values: [[...new Set(keys.map((key) => ownerOfKey(key).id))]],
    });
    const pending = new Set(rows.filter((row) => row.status === 'pending').map((row) => row.id));
    return new Set([...rows.flatMap(keysOf), ...keys.filter((key) => pending.has(ownerOfKey(key).id))]);
  }
}

function keysOf({ keys, hasThumbnail, picture }: KnownRow): readonly string[] {
  return hasThumbnail && picture !== null ? [...keys, thumbnailKey(picture)] : keys;
}
