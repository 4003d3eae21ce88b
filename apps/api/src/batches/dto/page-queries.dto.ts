import { Integer } from '#contract/field.js';
import { IsOptional } from 'class-validator';
import { NormalizedBy } from '../../common/contract-fields.js';
import { DEFAULT_LIMIT, orInteger, PageLimit, QueryChoice, QueryText } from '../../common/query-fields.js';

/** OpenAI's largest page; ours ends earlier and says that there is more. */
const MAX_ASKED = 10_000;

/** The query of GET /v1/batches. */
export class BatchListQuery {
  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  @QueryText()
  readonly after?: string;
}

/** The query of GET /v1/files. */
export class FileListQuery {
  @NormalizedBy(orInteger)
  @IsOptional()
  @Integer({ min: 1, max: MAX_ASKED })
  readonly limit: number = MAX_ASKED;

  @QueryText()
  readonly after?: string;

  @QueryText()
  readonly purpose?: string;

  @QueryChoice(['asc', 'desc'])
  readonly order: 'asc' | 'desc' = 'desc';
}
