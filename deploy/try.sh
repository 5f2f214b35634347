#!/usr/bin/env bash
# Two replicas of the Shim and HAProxy in front of them, on 127.0.0.1, until Ctrl-C. A replica that ends is started again.
#
# usage: deploy/try.sh [OPTIONS OF THE SHIM…]
#   SHIM   the program (default .build/release/shim; builds nothing)
#   MODEL  a GGUF file (default: the bundled one), or a folder of them
#   PORT   the balancer's port (default 8080); the replicas have the two after it
#   CERTIFICATE, REPLICA_CA   as haproxy.cfg has them: the balancer serves HTTPS, and asks the replicas by it
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
shim=${SHIM:-$here/../.build/release/shim}
model=${MODEL:-$here/../models/hearth-4m.gguf}
port=${PORT:-8080}

[[ -x $shim ]] || { echo "error: no program at '$shim': build it (swift build -c release --product shim) or set SHIM" >&2; exit 1; }
[[ -r $model ]] || { echo "error: cannot read the model '$model': set MODEL" >&2; exit 1; }
source=--model
[[ ! -d $model ]] || source=--models-dir

# Debian has it in /usr/sbin, which is not on everybody's PATH.
PATH=$PATH:/usr/sbin
command -v haproxy >/dev/null || { echo "error: no haproxy on the PATH: apt-get install haproxy" >&2; exit 1; }

# Runs replica NUMBER and starts it again when it ends, as systemd would.
replica() {
    local number=$1 child=
    shift
    trap 'trap - TERM; [[ -z $child ]] || kill "$child" 2>/dev/null; wait; exit 0' TERM
    while true; do
        "$shim" $source "$model" --port $((port + number)) --trusted-proxy 127.0.0.1 "$@" >/dev/null &
        child=$!
        echo "replica $number pid $child port $((port + number))"
        local status=0
        wait "$child" || status=$?
        echo "replica $number ended $status"
        # Long enough for two of the balancer's health checks, or it may not notice.
        sleep 3
    done
}

trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
trap 'exit 0' INT TERM
replica 1 "$@" &
replica 2 "$@" &
export LOCALLLM_TRY=1 LISTEN=127.0.0.1:$port REPLICA_1=127.0.0.1:$((port + 1)) REPLICA_2=127.0.0.1:$((port + 2))
haproxy -db -f "$here/haproxy.cfg" &
wait $!
