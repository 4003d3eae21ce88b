import { DEFAULT_ACCOUNT } from '#accounts/api-keys.js';
import type { PrismaService } from '#database/prisma.service.js';
import type { AuditAction } from '#accounts/audit-actions.js';
import { AuditLog } from '#accounts/audit-log.js';

interface Noted {
  readonly account?: string;
  readonly target?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Records a command's change in the audit log, without a user. */
export async function noteCommand(
  database: PrismaService,
  action: AuditAction,
  { account = DEFAULT_ACCOUNT, target, details = {} }: Noted,
): Promise<void> {
  await new AuditLog(database).write({
    accountId: account,
    personId: null,
    action,
    details: { ...details, via: 'command' },
    ...(target === undefined ? {} : { target }),
  });
}
