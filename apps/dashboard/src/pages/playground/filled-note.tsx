import { Anchor, Text } from '@mantine/core';
import { type ChangeDraft, type Draft } from './draft.ts';
import { focusOn } from './image-uses.tsx';
import { PROMPT_ID } from './prompt-field.tsx';

interface FilledNoteProps {
  readonly draft: Draft;
  readonly onChange: ChangeDraft;
}

/** Says what was filled in, and offers to undo it. */
export function FilledNote({ draft: { filled }, onChange }: FilledNoteProps) {
  const undo = () => {
    if (filled !== null) onChange({ ...filled.before, filled: null });
    focusOn(PROMPT_ID);
  };
  return (
    // Always rendered: screen readers announce changes only in a region that already exists.
    <Text size="sm" role="status" className="filled-note">
      {filled !== null && (
        <>
          {filled.words}{' '}
          <Anchor component="button" type="button" size="sm" underline="always" onClick={undo}>
            Undo
          </Anchor>
        </>
      )}
    </Text>
  );
}
