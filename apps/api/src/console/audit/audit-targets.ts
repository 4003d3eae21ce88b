import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { PrismaService } from '#database/prisma.service.js';
import type { AuditEntry } from '#accounts/audit-log.js';

/** Finds what entries of the audit log are about. */
@Injectable()
export class AuditTargets {
  constructor(
    private readonly prisma: PrismaService,
    private readonly source: CatalogSource,
  ) {}

  /** The targets that an account still has. Ids begin with their kind, so each can be one thing only. */
  async existing(accountId: string, entries: readonly AuditEntry[]): Promise<ReadonlySet<string>> {
    const ids = entries.flatMap(({ target }) => (target === null ? [] : [target]));
    const asked = { where: { id: { in: ids }, accountId }, select: { id: true } };
    const { apiKey, task, webhookEndpoint, webhookDelivery, person } = this.prisma;
    // One after the other on one connection: a page of the console is not to take five.
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
