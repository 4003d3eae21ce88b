import { Injectable } from '@nestjs/common';
import { decimalOf } from '#contract/money.js';
import { HeldTasks } from '#tasks/reading/held-tasks.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { allTasksOf } from '#tasks/row/task.js';
import { ShownTasks } from '../tasks/shown-tasks.js';
import type { ApprovalListView } from './dto/approval-views.dto.js';

const MAX_SHOWN = 50;

/** An account's requests that wait for an approval, as those who decide see them. */
@Injectable()
export class ShownApprovals {
  constructor(
    private readonly held: HeldTasks,
    private readonly tasks: TaskStore,
    private readonly shown: ShownTasks,
  ) {}

  async list(accountId: string): Promise<ApprovalListView> {
    const [held, count] = await Promise.all([this.held.list(accountId, MAX_SHOWN), this.count(accountId)]);
    const ids = held.map(({ id }) => id);
    const rows = await this.shown.rowsWithImages(accountId, await this.tasks.findAll(allTasksOf(accountId), ids));
    const data = held.flatMap(({ id, approval, expiresAt }) => {
      const row = rows.find(({ task }) => task.id === id);
      // Decided between the two reads.
      if (row?.task.phase !== 'held') return [];
      return [{ ...row, approve_above: decimalOf(approval.above), expires_at: expiresAt.toISOString() }];
    });
    return { data, count };
  }

  async count(accountId: string): Promise<number> {
    return (await this.held.figures(accountId)).count;
  }
}
