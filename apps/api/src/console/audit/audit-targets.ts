import { Injectable } from '@nestjs/common';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import { PrismaService } from '#database/prisma.service.js';
import type { AuditEntry } from '#accounts/audit-log.js';

/** Finds what entries of the audit log are about. */
@Injectable()
export class AuditTargets {
  constructor(
    private readonly prisma: PrismaService,
    private readonly source: CatalogueSource,
  ) {}

  /** The targets that an account still has. Ids begin with their kind, so each can be one thing only. */
  async existing(accountId: string, entries: readonly AuditEntry[]): Promise<ReadonlySet<string>> {
    const ids = entries.flatMap(({ target }) => (target === null ? [] : [target]));
    const { rows } = await this.prisma.pool.query<{ id: string }>(
      `SELECT id FROM api_keys WHERE id = ANY ($2) AND account_id = $1
       UNION ALL SELECT id FROM tasks WHERE id = ANY ($2) AND account_id = $1
       UNION ALL SELECT id FROM webhook_endpoints WHERE id = ANY ($2) AND account_id = $1
       UNION ALL SELECT id FROM webhook_deliveries WHERE id = ANY ($2) AND account_id = $1
       UNION ALL SELECT id FROM people WHERE id = ANY ($2) AND account_id = $1`,
      [accountId, ids],
    );
    const providers = entries.flatMap(({ action, target }) =>
      action.startsWith('provider.') && target !== null && this.source.current.providers.has(target) ? [target] : [],
    );
    return new Set([...rows.map(({ id }) => id), ...providers]);
  }
}
