import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { ownerOfKey, uploadKey } from '#storage/object-key.js';

/** Which objects belong to uploads. */
@Injectable()
export class UploadObjects {
  constructor(private readonly prisma: PrismaService) {}

  /** Those of the keys that an upload knows. Throws when the database fails. */
  async known(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const { rows } = await this.prisma.pool.query<{ id: string }>({
      text: 'SELECT id FROM uploads WHERE id = ANY($1)',
      values: [[...new Set(keys.map((key) => ownerOfKey(key).id))]],
    });
    return new Set(rows.map(({ id }) => uploadKey(id)));
  }
}
