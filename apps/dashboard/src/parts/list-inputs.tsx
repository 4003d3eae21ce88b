import { ActionIcon, Button } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';

interface RemoveItemProps {
  /** What the button removes. */
  readonly name: string;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}

/** Removes an item from a list of inputs. */
export function RemoveItem({ name, disabled = false, onClick }: RemoveItemProps) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={`Remove ${name}`}
      disabled={disabled}
      onClick={onClick}
    >
      <IconTrash size={18} />
    </ActionIcon>
  );
}

/** Adds an item to a list of inputs. */
export function AddItem({ children, onClick }: { readonly children: string; readonly onClick: () => void }) {
  return (
    <Button variant="subtle" size="xs" leftSection={<IconPlus size={14} />} onClick={onClick}>
      {children}
    </Button>
  );
}
