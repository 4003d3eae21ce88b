import { Anchor, Code } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { signInQuery } from '../../api/queries.ts';
import { accountLabel } from '../../parts/account-label.ts';
import { ByLink } from './by-link.tsx';

export function FirstRunPage() {
  return (
    <ByLink
      title="Welcome to Darkroom"
      about="Create your account. You will be its owner and the operator of this installation."
      path="/first-admin"
      purpose="first_admin"
      fields={['name', 'email']}
      action="Create account"
      renew={
        <>
          Print a new one with <Code>npm run admin -- link</Code>.
        </>
      }
    />
  );
}

export function InvitePage() {
  return (
    <ByLink
      title="Welcome to Darkroom"
      about={(account) => `You’re invited to join${account === undefined ? '' : ` ${accountLabel(account)}`}.`}
      path="/join"
      purpose="invite"
      fields={['name']}
      action="Join"
      renew="Ask an owner or admin for a new one."
    />
  );
}

export function ResetPasswordPage() {
  const { data } = useQuery(signInQuery);
  return (
    <ByLink
      title={data?.oidc ? 'Set up sign-in' : 'New password'}
      about={data?.oidc ? 'Choose how you sign in from now on.' : 'Choose a new password.'}
      path="/reset-password"
      purpose="password"
      fields={[]}
      action="Save and sign in"
      renew={
        data?.email === true && data.password ? (
          <Anchor component={Link} to="/forgot-password" size="sm" underline="always">
            Email me a new link
          </Anchor>
        ) : (
          'Ask an owner or admin for a new one.'
        )
      }
    />
  );
}
