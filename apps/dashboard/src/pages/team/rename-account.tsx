import { queryClient, sessionQuery } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { ownAccountQuery } from '../../api/team-queries.ts';
import { RenameForm } from '../../parts/rename-form.tsx';

interface RenameAccountProps {
  /** The current name. */
  readonly name: string;
  readonly onClose: () => void;
}

/** Renames the user's account. */
export function RenameAccount({ name, onClose }: RenameAccountProps) {
  return (
    <RenameForm
      title="Rename account"
      name={name}
      onSave={async (changed) => {
        await send('PATCH', '/account', { name: changed });
        await Promise.all([
          queryClient.invalidateQueries(ownAccountQuery),
          queryClient.invalidateQueries(sessionQuery),
        ]);
      }}
      onClose={onClose}
    />
  );
}
