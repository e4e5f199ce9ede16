#!/usr/bin/env bash
# A PostgreSQL server of the tests' own, on loopback, with its data in a folder: `postgres.sh start|stop FOLDER`.
# `start` prints the address to connect to, or nothing where no server is installed.
set -euo pipefail

folder=$2
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1 || true)
[[ -n $bin ]] || { command -v initdb >/dev/null && bin=$(dirname "$(command -v initdb)"); } || exit 0

# The server refuses to run as root.
as_user() { if [[ $(id -u) == 0 ]]; then su -s /bin/bash postgres -c "$*"; else bash -c "$*"; fi; }

case $1 in
  start)
    mkdir -p "$folder"
    if [[ $(id -u) == 0 ]]; then chown postgres "$folder" && chmod o+x "$(dirname "$folder")"; fi
    as_user "$bin/initdb -A trust -U kedi -D $folder/data" >/dev/null
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    as_user "$bin/pg_ctl -w -D $folder/data -l $folder/log \
      -o '-c listen_addresses=127.0.0.1 -c unix_socket_directories= -p $port' start" >/dev/null
    echo "postgresql://kedi@127.0.0.1:$port/postgres"
    ;;
  stop) as_user "$bin/pg_ctl -m immediate -D $folder/data stop" >/dev/null ;;
esac
