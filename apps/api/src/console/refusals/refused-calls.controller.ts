import { Get, Query } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { may } from '#accounts/person-rules.js';
import { RefusedCallsRepository, type RefusedQuery } from '#accounts/refused-calls.repository.js';
import { TaskRights } from '#accounts/task-rights.js';
import { AppError } from '#contract/app-error.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { Session } from '../session.decorator.js';
import { ApiRefusedQuery, RefusedCallsQuery } from './dto/refused-query.dto.js';
import { RefusedGroupListView, RefusedMinuteListView, refusedView } from './dto/refused-views.dto.js';

const HOUR_MS = 3_600_000;
/** Rows of a list. */
const MOST = 200;

/**
 * Calls that were refused before there was a task. Members see those of the keys that they created, other roles those of
 * their account, and operators also those of the installation.
 */
@ConsoleController('Tasks', 'refused-calls')
@Allow('tasks.read')
export class RefusedCallsController {
  constructor(
    private readonly refused: RefusedCallsRepository,
    private readonly rights: TaskRights,
  ) {}

  @Get()
  @ApiRefusedQuery()
  @ApiResponse({ status: 200, type: RefusedGroupListView })
  async groups(@Session() session: Session, @Query() query: RefusedCallsQuery): Promise<RefusedGroupListView> {
    const asked = await this.queryOf(session, query);
    const [total, groups] = await Promise.all([this.refused.total(asked), this.refused.groups(asked, MOST + 1)]);
    const named = await this.refused.named(groups.slice(0, MOST));
    const data = named.map((group) => ({
      ...refusedView(group),
      first_at: group.first.toISOString(),
      last_at: group.last.toISOString(),
    }));
    return { data, total, has_more: groups.length > MOST };
  }

  @Get('minutes')
  @ApiRefusedQuery()
  @ApiResponse({ status: 200, type: RefusedMinuteListView })
  async minutes(@Session() session: Session, @Query() query: RefusedCallsQuery): Promise<RefusedMinuteListView> {
    const rows = await this.refused.minutes(await this.queryOf(session, query), MOST + 1);
    const named = await this.refused.named(rows.slice(0, MOST));
    const data = named.map((row) => ({ ...refusedView(row), minute: row.minute.toISOString() }));
    return { data, has_more: rows.length > MOST };
  }

  /** Throws AppError `not_permitted` for the installation's calls, unless the user is an operator. */
  private async queryOf(
    session: Session,
    { hours, key, code, installation }: RefusedCallsQuery,
  ): Promise<RefusedQuery> {
    const asked = { since: new Date(Date.now() - hours * HOUR_MS), keyId: key, code };
    if (installation === 'true') {
      if (may(session, 'installation.manage')) return asked;
      throw new AppError('not_permitted', 'Only operators see the calls of the whole installation.', {
        param: 'installation',
      });
    }
    const own = await this.rights.ofPerson(session);
    return { ...asked, accountId: session.accountId, keyIds: own?.keyIds };
  }
}
