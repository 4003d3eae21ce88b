import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { PrismaService } from '#database/prisma.service.js';
import type { AuditEntry } from '#accounts/audit-log.js';

/** Finds the targets of audit log entries. */
@Injectable()
export class AuditTargets {
  constructor(
    private readonly prisma: PrismaService,
    private readonly source: CatalogSource,
  ) {}

  /** The targets that still exist in an account. Ids start with their kind, so each matches at most one table. */
  async existing(accountId: string, entries: readonly AuditEntry[]): Promise<ReadonlySet<string>> {
    const ids = entries.flatMap(({ target }) => (target === null ? [] : [target]));
    const asked = { where: { id: { in: ids }, accountId }, select: { id: true } };
    const { apiKey, task, webhookEndpoint, webhookDelivery, person } = this.prisma;
    // Sequential on one connection, so that a console page does not use five.
    const found = await this.prisma.$transaction([
      apiKey.findMany(asked),
      task.findMany(asked),
      webhookEndpoint.findMany(asked),
      webhookDelivery.findMany(asked),
      person.findMany(asked),
    ]);
    const providers = entries.flatMap(({ action, target }) =>
      action.startsWith('provider.') && target !== null && this.source.current.providers.has(target) ? [target] : [],
    );
    return new Set([...found.flat().map(({ id }) => id), ...providers]);
  }
}
