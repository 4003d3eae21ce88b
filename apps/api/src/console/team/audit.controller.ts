import { Get, Query, type StreamableFile } from '@nestjs/common';
import { ApiQuery, ApiResponse } from '@nestjs/swagger';
import { AUDIT_KINDS, auditSentence } from '#accounts/audit-actions.js';
import { AuditLog } from '#accounts/audit-log.js';
import { AuditFilter, AuditPageQuery } from './dto/audit-query.dto.js';
import { AuditTargets } from './audit-targets.js';
import { auditEntryView, AuditPageView, whoOf } from './dto/audit-views.dto.js';
import { SearchAudit } from './search-audit.js';
import { ConsoleController } from '../console-controller.js';
import { csvFile } from '../csv.js';
import { Allow } from '../abilities.guard.js';
import { Session } from '../session.decorator.js';
import { ApiPage } from '../../common/query-fields.js';

const MAX_EXPORTED = 10_000;

/** An account's audit log: who did what. */
@ConsoleController('Audit log')
@Allow('audit.read')
@ApiQuery({
  name: 'who',
  required: false,
  description: 'ID of a user, or `nobody` for entries without a user.',
  schema: { type: 'string' },
})
@ApiQuery({ name: 'kind', required: false, enum: AUDIT_KINDS })
@ApiQuery({ name: 'text', required: false, description: 'Part of what an entry says.', schema: { type: 'string' } })
@ApiQuery({ name: 'from', required: false, description: 'At or after this time.', schema: { type: 'string' } })
@ApiQuery({ name: 'to', required: false, description: 'Before this time.', schema: { type: 'string' } })
export class AuditController {
  constructor(
    private readonly audit: AuditLog,
    private readonly searches: SearchAudit,
    private readonly targets: AuditTargets,
  ) {}

  @Get('audit')
  @ApiPage()
  @ApiResponse({ status: 200, type: AuditPageView })
  async list(@Session() { accountId }: Session, @Query() query: AuditPageQuery): Promise<AuditPageView> {
    const { entries, next, searchedUntil } = await this.searches.find(accountId, query);
    const existing = await this.targets.existing(accountId, entries);
    return {
      data: entries.map((entry) => auditEntryView(entry, entry.target !== null && existing.has(entry.target))),
      has_more: next !== null,
      next,
      searched_until: searchedUntil?.toISOString() ?? null,
    };
  }

  @Get('audit.csv')
  @ApiResponse({ status: 200, description: `The newest ${MAX_EXPORTED} entries as CSV.` })
  async table(@Session() session: Session, @Query() filter: AuditFilter): Promise<StreamableFile> {
    const { entries } = await this.searches.find(session.accountId, { ...filter, limit: MAX_EXPORTED });
    await this.audit.recordOnce(session, 'audit.exported', undefined, { count: entries.length });
    return csvFile('darkroom-audit-log.csv', [
      ['time', 'who', 'email', 'what', 'action', 'target', 'details'],
      ...entries.map((entry) => {
        const { createdAt, person, action, target, details } = entry;
        const sentence = auditSentence(action, target, details);
        return [
          createdAt.toISOString(),
          whoOf(entry),
          person?.email ?? null,
          sentence,
          action,
          target,
          JSON.stringify(details),
        ];
      }),
    ]);
  }
}
