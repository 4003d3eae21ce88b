import { Injectable } from '@nestjs/common';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import type { AuditEntry } from '#accounts/audit-log.js';
import { PersonStore } from '#accounts/person-store.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { DeliveryLog } from '#notifications/deliveries/delivery-log.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { TaskStore } from '#tasks/reading/task-store.js';

/** Finds the targets of audit log entries. */
@Injectable()
export class AuditTargets {
  constructor(
    private readonly keys: ApiKeyRepository,
    private readonly tasks: TaskStore,
    private readonly endpoints: EndpointStore,
    private readonly deliveries: DeliveryLog,
    private readonly people: PersonStore,
    private readonly source: CatalogSource,
  ) {}

  /** The targets that still exist in an account. Ids start with their kind, so each has at most one owner. */
  async existing(accountId: string, entries: readonly AuditEntry[]): Promise<ReadonlySet<string>> {
    const ids = entries.flatMap(({ target }) => target ?? []);
    const found = new Set(
      entries.flatMap(({ action, target }) =>
        action.startsWith('provider.') && target !== null && this.source.current.providers.has(target) ? [target] : [],
      ),
    );
    // One after the other, so that a console page does not use five connections.
    for (const owner of [this.keys, this.tasks, this.endpoints, this.deliveries, this.people]) {
      for (const id of await owner.existing(accountId, ids)) found.add(id);
    }
    return found;
  }
}
