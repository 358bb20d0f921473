#!/usr/bin/env bash
# Makes a git repository with the history of a small handbook: a document to try redraft on.
# Usage: bash examples/handbook.sh FOLDER
set -euo pipefail

folder=${1:?usage: bash handbook.sh FOLDER}
mkdir "$folder"
cd "$folder"
git init --quiet
day=0

edition() {
  day=$((day + 1))
  export GIT_AUTHOR_DATE="2026-03-0${day}T12:00:00Z" GIT_COMMITTER_DATE="2026-03-0${day}T12:00:00Z"
  cat > handbook.md <<TEXT
# Harbour sauna handbook

## Opening hours

The sauna on the north pier is open from $1 to 22:00 on weekdays and from 10:00 on Saturdays. It is closed on
$2 for cleaning. Guests should arrive a quarter of an hour before their slot, as the key is handed over at the
ticket booth, and the last round starts an hour before closing time.

## Prices

A single visit costs $3 euros and a card for ten visits costs $4 euros. Children under twelve pay half. Towels can
be borrowed for 2 euros, and the deposit for the locker key is returned at the end. Payment is by card only, at the
booth or on the website.

## Stove and water

The wood stove takes $5 kilos of birch to heat up and reaches $6 degrees after about forty minutes. Water is carried
from the tap at the head of the pier. Sea water must never be poured on the stones, because the salt makes them crack.

## Safety

At most $7 guests may be inside at the same time. The ladder into the sea is $8 and may not be used when the
wind is stronger than force six. A first-aid kit hangs beside the door, and the emergency telephone is in the
ticket booth. Open fire is forbidden on the pier.
TEXT
  git add handbook.md
  git -c user.name=handbook -c user.email=handbook@example.org commit --quiet -m "$9"
}

edition 15:00 Mondays  11 90  8 85 12 "lit until midnight" "First edition"
edition 14:00 Mondays  11 90  8 85 12 "lit until midnight" "Open earlier"
edition 14:00 Mondays  13 95  8 85 12 "lit until midnight" "New prices"
edition 14:00 Mondays  13 95  6 85 12 "lit until midnight" "Smaller stove"
edition 14:00 Tuesdays 13 95  6 85 12 "lit until midnight" "Cleaning moves to Tuesdays"
edition 14:00 Tuesdays 13 95  6 90 10 "lit until midnight" "Hotter, and fewer guests"
edition 14:00 Tuesdays 14 95  6 90 10 "lit all night"      "Light, and the price of a visit"
