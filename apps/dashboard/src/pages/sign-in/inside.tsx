import { lazy, Suspense, useState } from 'react';
import { queryClient, sessionQuery, useSession } from '../../api/queries.ts';
import { Rows } from '../../parts/page.tsx';
import { ProofDialog } from '../../parts/proof-dialog.tsx';
import { Shell } from '../../app/shell.tsx';
import { useSignOut } from '../../app/use-sign-out.ts';

const TwoFactorRequired = lazy(async () => ({
  default: (await import('./two-factor-required.tsx')).TwoFactorRequired,
}));

/** The pages, or what the user has to do first. */
export function Inside() {
  const { two_factor_required: isRequired } = useSession();
  // Kept here, because the requirement is already met while the codes are still being saved.
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const signOut = useSignOut();
  if (!isRequired && codes === null)
    return (
      <>
        <Shell />
        <ProofDialog />
      </>
    );
  return (
    <Suspense fallback={<Rows />}>
      <TwoFactorRequired
        codes={codes}
        onSetUp={setCodes}
        onClose={() => void queryClient.invalidateQueries(sessionQuery).then(() => setCodes(null))}
        onSignOut={() => signOut.mutate()}
      />
      <ProofDialog />
    </Suspense>
  );
}
