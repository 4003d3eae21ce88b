import { Button } from '@mantine/core';
import { BusyButton } from './busy.tsx';
import type { SignInState } from '../api/types.ts';

interface ProviderButtonProps {
  readonly provider: NonNullable<SignInState['oidc']>;
  /** The main way of its page. */
  readonly main: boolean;
  /** What happens instead of following its address. */
  readonly onClick?: () => void;
  readonly loading?: boolean;
}

/** Off to the provider of the single sign-on. */
export function ProviderButton({ provider, main, onClick, loading }: ProviderButtonProps) {
  const look = { variant: main ? 'filled' : 'default', fullWidth: true } as const;
  const words = `Continue with ${provider.name}`;
  if (onClick === undefined) {
    return (
      <Button component="a" href={provider.url} {...look}>
        {words}
      </Button>
    );
  }
  return (
    <BusyButton onClick={onClick} busy={loading ?? false} {...look}>
      {words}
    </BusyButton>
  );
}
