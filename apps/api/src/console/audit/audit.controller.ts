import { Get, Req, Res } from '@nestjs/common';
import { ApiQuery, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { actionsOf, AUDIT_KINDS, auditSentence } from '#people/audit-actions.js';
import { AuditLog, type AuditQuery } from '#people/audit-log.js';
import { readLimit } from '../../tasks/list-query.js';
import { AuditTargets } from './audit-targets.js';
import { auditEntryView, AuditPageView, whoOf } from './audit-views.js';
import { ConsoleController } from '../console-controller.js';
import { csv } from '../csv.js';
import { assertFilters, queryChoice, queryText } from '../query-text.js';
import { ForRole } from '../roles.guard.js';
import { Session } from '../session.decorator.js';

const MAX_EXPORTED = 10_000;
const FILTERS = ['who', 'kind'];

/** Who did what in an account. */
@ConsoleController('Audit log')
@ForRole('admin')
@ApiQuery({ name: 'who', required: false, description: 'Id of a person, or `nobody`.', schema: { type: 'string' } })
@ApiQuery({ name: 'kind', required: false, enum: AUDIT_KINDS })
export class AuditController {
  constructor(
    private readonly audit: AuditLog,
    private readonly targets: AuditTargets,
  ) {}

  @Get('audit')
  @ApiQuery({ name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 100 } })
  @ApiQuery({ name: 'after', required: false, schema: { type: 'string' } })
  @ApiResponse({ status: 200, type: AuditPageView })
  async list(@Session() { accountId }: Session, @Req() request: FastifyRequest): Promise<AuditPageView> {
    const { query } = request;
    assertFilters(query, ['limit', 'after', ...FILTERS]);
    const limit = readLimit((query as { limit?: unknown }).limit);
    const asked = { ...auditFilters(query), after: queryText(query, 'after'), limit };
    const { entries, hasMore } = await this.audit.list(accountId, asked);
    const existing = await this.targets.existing(accountId, entries);
    return {
      data: entries.map((entry) => auditEntryView(entry, entry.target !== null && existing.has(entry.target))),
      has_more: hasMore,
      next: hasMore ? (entries.at(-1)?.id ?? null) : null,
    };
  }

  @Get('audit.csv')
  @ApiResponse({ status: 200, description: `The newest ${MAX_EXPORTED} entries as comma-separated text.` })
  async table(
    @Session() session: Session,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    assertFilters(request.query, FILTERS);
    const asked = { ...auditFilters(request.query), limit: MAX_EXPORTED };
    const { entries } = await this.audit.list(session.accountId, asked);
    void reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', 'attachment; filename="darkroom-audit-log.csv"');
    return csv([
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

function auditFilters(query: unknown): Pick<AuditQuery, 'who' | 'actions'> {
  const kind = queryChoice(query, 'kind', AUDIT_KINDS);
  return { who: queryText(query, 'who'), actions: kind === undefined ? undefined : actionsOf(kind) };
}
