import { Button } from '@mantine/core';
import { BusyButton } from './busy.tsx';
import type { SignInState } from '../api/types.ts';

interface ProviderButtonProps {
  readonly provider: NonNullable<SignInState['oidc']>;
  /** The primary action of its page. */
  readonly main: boolean;
  /** Runs instead of following the link. */
  readonly onClick?: () => void;
  readonly loading?: boolean;
}

/** Signs in with the single sign-on provider. */
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
