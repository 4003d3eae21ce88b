import { ApiProperty } from '@nestjs/swagger';

const STAGES = ['input', 'output', 'unknown'] as const;
const MAX_CATEGORIES = 16;
const CATEGORY = /^[A-Za-z0-9][A-Za-z0-9 _./-]{0,63}$/;

/** OpenAI's categories; vendors may add others. */
export const MODERATION_CATEGORIES: readonly string[] = [
  ...['harassment', 'harassment/threatening', 'hate', 'hate/threatening', 'illicit', 'illicit/violent'],
  ...['self-harm', 'self-harm/instructions', 'self-harm/intent', 'sexual', 'sexual/minors'],
  ...['violence', 'violence/graphic'],
];

/** What a provider says of a request that its moderation blocked, in OpenAI's form. */
export class ModerationDetails {
  @ApiProperty({
    type: [String],
    maxItems: MAX_CATEGORIES,
    example: ['sexual'],
    description: 'As the provider names them; new ones may be added.',
  })
  categories!: string[];

  @ApiProperty({ enum: STAGES, description: 'Whether the request was blocked, or the image that was made of it.' })
  moderation_stage!: (typeof STAGES)[number];
}

/** Reads the details in a provider's error; undefined if there are none. Only short names are kept. */
export function readModerationDetails(value: unknown): ModerationDetails | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { categories, moderation_stage: told } = value as { categories?: unknown; moderation_stage?: unknown };
  const listed: unknown[] = Array.isArray(categories) ? categories : [];
  const names = listed.filter((name): name is string => typeof name === 'string' && CATEGORY.test(name));
  const stage = STAGES.find((one) => one === told);
  if (names.length === 0 && stage === undefined) return undefined;
  return { categories: [...new Set(names)].slice(0, MAX_CATEGORIES), moderation_stage: stage ?? 'unknown' };
}
