import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, Max, Min } from 'class-validator';

const MAX_LIMIT = 1_000_000_000;
const MAX_WEIGHT = 100;

/** A limit of a key or an account: 0 = unlimited, null = the default. */
export function IsLimit(): PropertyDecorator {
  return all(
    ApiPropertyOptional({ type: 'integer', nullable: true, minimum: 0, maximum: MAX_LIMIT }),
    IsOptional(),
    IsInt(),
    Min(0),
    Max(MAX_LIMIT),
  );
}

/** A weight in the fair queue; null = 1. */
export function IsWeight(): PropertyDecorator {
  return all(
    ApiPropertyOptional({ type: 'integer', nullable: true, minimum: 1, maximum: MAX_WEIGHT }),
    IsOptional(),
    IsInt(),
    Min(1),
    Max(MAX_WEIGHT),
  );
}

function all(...decorators: readonly PropertyDecorator[]): PropertyDecorator {
  return (target, property) => {
    for (const decorate of decorators) decorate(target, property);
  };
}
