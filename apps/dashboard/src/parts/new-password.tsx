import { Box, Progress, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { ComponentProps } from 'react';
import { RequestError } from '../api/request.ts';
import { PasswordField } from './password-field.tsx';

const MIN_LENGTH = 12;
const WORDS = ['Too easy to guess', 'Too easy to guess', 'Too easy to guess', 'Good', 'Strong'];

/** For forms: the error if a new password is too short. */
export function newPasswordProblem(value: string): string | null {
  return [...value].length < MIN_LENGTH ? `At least ${MIN_LENGTH} characters` : null;
}

/** The service's error about a new password; null for any other error, which is shown elsewhere. */
export function refusedPassword(error: Error | null): string | null {
  return error instanceof RequestError && error.param === 'password' ? error.message : null;
}

interface NewPasswordProps extends Omit<ComponentProps<typeof PasswordField>, 'value'> {
  readonly value?: string;
  /** Text that a password must not contain: name and email address of its owner. */
  readonly personal: readonly string[];
}

/** A field for a new password with a strength meter. The service has the final say. */
export function NewPassword({ value = '', personal, error, ...props }: NewPasswordProps) {
  const [typed] = useDebouncedValue(value, 200);
  const { data } = useQuery({
    queryKey: ['password-strength', typed, personal],
    queryFn: async () => {
      // The word lists are large, so they load only when needed.
      const { passwordStrength } = await import('#contract/password-strength.js');
      return await passwordStrength(typed, personal);
    },
    enabled: typed !== '',
    // Passwords must not stay in the cache.
    gcTime: 0,
    staleTime: Infinity,
    placeholderData: (before) => before,
  });
  // One message at a time: an error of the service replaces the strength.
  const isRefused = error !== undefined && error !== null;
  const strength = value === '' || isRefused ? undefined : data;
  const long = newPasswordProblem(typed) === null;
  return (
    <Box>
      <PasswordField
        description={isRefused ? undefined : `At least ${MIN_LENGTH} characters`}
        autoComplete="new-password"
        required
        value={value}
        error={error}
        {...props}
      />
      {strength !== undefined && (
        <Box mt={6}>
          <Progress
            value={long ? Math.max(1, strength.score) * 25 : 10}
            color={!strength.enough || !long ? 'red' : strength.score === 3 ? 'yellow' : 'green'}
            size="xs"
            aria-hidden
          />
          <Text size="xs" mt={4} role="status">
            {long ? WORDS[strength.score] : 'Too short'}
            {long && !strength.enough && strength.weakness !== undefined ? `. ${strength.weakness}` : ''}
          </Text>
        </Box>
      )}
    </Box>
  );
}
