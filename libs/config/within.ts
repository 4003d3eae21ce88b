import { IsInt, Max, Min } from 'class-validator';

/** A whole number that is `min` at least and `max` at most. */
export function Within(min: number, max = Infinity): PropertyDecorator {
  return (target, property) => {
    if (max < Infinity) Max(max)(target, property);
    Min(min)(target, property);
    IsInt()(target, property);
  };
}
