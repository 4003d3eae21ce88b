import { Injectable } from '@nestjs/common';
import { actionsOf, auditSentence } from '#accounts/audit-actions.js';
import { AuditLog, type AuditEntry } from '#accounts/audit-log.js';
import type { AuditFilter } from './dto/audit-query.dto.js';
import { whoOf } from './dto/audit-views.dto.js';

/** Entries to read at a time, most to examine in one search, and the time after which no more are read. */
const PAGE = 500;
const MAX_EXAMINED = 10_000;
const SEARCH_MS = 2_000;

interface Asked extends AuditFilter {
  readonly after?: string | undefined;
  /** Most entries to return. */
  readonly limit: number;
}

interface Found {
  readonly entries: readonly AuditEntry[];
  /** Cursor of the next page; null = none. */
  readonly next: string | null;
  /** How far back a search got before it stopped at its bounds; null otherwise. */
  readonly searchedUntil: Date | null;
}

/**
 * Reads an account's audit log by its filters. A text is searched in what entries say to their reader, which the
 * database does not know, so a search examines a limited number of entries and returns where it stopped.
 */
@Injectable()
export class SearchAudit {
  constructor(private readonly audit: AuditLog) {}

  async find(accountId: string, { text, kind, who, from, to, after, limit }: Asked): Promise<Found> {
    const query = { who, actions: kind && actionsOf(kind), since: from, until: to };
    if (text === undefined) {
      const { entries, hasMore } = await this.audit.list(accountId, { ...query, after, limit });
      return { entries, next: hasMore ? (entries.at(-1)?.id ?? null) : null, searchedUntil: null };
    }
    const words = text.toLowerCase();
    const begun = performance.now();
    const found: AuditEntry[] = [];
    let last: AuditEntry | undefined;
    let hasMore = true;
    for (let examined = 0; hasMore && examined < MAX_EXAMINED; examined += PAGE) {
      if (performance.now() - begun > SEARCH_MS) break;
      const page = await this.audit.list(accountId, { ...query, after: last?.id ?? after, limit: PAGE });
      found.push(...page.entries.filter((entry) => wordsOf(entry).includes(words)));
      if (found.length > limit) {
        return { entries: found.slice(0, limit), next: found[limit - 1]?.id ?? null, searchedUntil: null };
      }
      last = page.entries.at(-1) ?? last;
      ({ hasMore } = page);
    }
    return {
      entries: found,
      next: hasMore ? (last?.id ?? null) : null,
      searchedUntil: hasMore ? (last?.createdAt ?? null) : null,
    };
  }
}

/** Everything that an entry says, in lower case. */
function wordsOf(entry: AuditEntry): string {
  const { person, action, target, details } = entry;
  const said = [whoOf(entry), auditSentence(action, target, details), person?.email, action, target];
  return [...said, JSON.stringify(details)].join(' ').toLowerCase();
}
